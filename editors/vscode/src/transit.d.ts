/** What of a conversation goes along (docs/history-transit.md): src/kds/transit/history.mjs. */
export interface Said { readonly role: "user" | "assistant"; readonly content: string }
export const BUDGET_TOKENS: number;
export function tokens(content: string): number;
export function transit(messages: readonly unknown[]): Said[];
