// A language model without a network: it says which agent's prompt it got, and how it was asked.
"use strict";

const vscode = require("vscode");

const MODEL = {
  id: "echo", name: "Echo", family: "echo", version: "1",
  maxInputTokens: 100000, maxOutputTokens: 4000,
  isUserSelectable: true, isDefault: true,
  capabilities: { toolCalling: true },
};

exports.activate = (context) => {
  const provider = {
    provideLanguageModelChatInformation: async () => [MODEL],
    provideTokenCount: async (_model, text) => String(text.content ?? text).length / 4,
    provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
      const texts = messages.map((one) => one.content.map((part) => part.value ?? "").join(""));
      const title = /^# (.*)$/m.exec(texts.at(-1))?.[1] ?? "no prompt";
      const attached = /^```\w*\n(.*)$/m.exec(texts.at(-1).split(`# ${title}`)[0])?.[1];
      const told = attached ? `, with "${attached}"` : "";
      // In code, which brings up nothing that a later "it" could mean.
      for (const word of ["```Echo ", "of ", title, `: ${messages.length} messages${told}.\`\`\``]) {
        progress.report(new vscode.LanguageModelTextPart(word));
      }
    },
  };
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("kds-test", provider));
  void vscode.lm.selectChatModels({ vendor: "kds-test" }); // models are looked up when somebody asks
};
