import { defineConfig } from "vitest/config";

const here = (path) => new URL(path, import.meta.url).pathname;

export default defineConfig({
  resolve: {
    alias: {
      vscode: here("test/vscode.ts"),
      "@kds/transit": here("../../src/kds/transit/history.mjs"),
    },
  },
  test: { include: ["test/*.test.ts"], pool: "threads", maxWorkers: 1 },
});
