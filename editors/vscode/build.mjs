// Bundles the extension into one file, with the reference client's part of the history contract.
import { copyFileSync } from "node:fs";
import { build } from "esbuild";

export const transit = new URL("../../src/kds/transit/history.mjs", import.meta.url).pathname;

await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.cjs",
  bundle: true,
  minify: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  external: ["vscode"],
  define: { BUILT_WITH: JSON.stringify(process.env.KDS_BUILT_WITH ?? "") },
  alias: { "@kds/transit": transit },
});
copyFileSync("../../LICENSE", "LICENSE"); // vsce wants one beside package.json
