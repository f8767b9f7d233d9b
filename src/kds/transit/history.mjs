// What of a conversation goes along with the next question (docs/history-transit.md).
// The same as history.py, code point for code point. No dependencies; runs in browsers too.

export const TURNS = 10;
export const REPLY_CHARS = 500;
export const BUDGET_TOKENS = 2000;
export const MESSAGE_TOKENS = 4;
export const BYTES_A_TOKEN = 4;
export const CUT = " …";

const BLANKS = " \t\r\n";
const LEADING = /^[ \t\r\n]+/;
const TRAILING = /[ \t\r\n]+$/;
const HALVES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const encoder = new TextEncoder();

/** The part of a conversation, oldest first, that goes along with the next question. */
export function transit(messages) {
  const turns = turnsOf(cleaned(messages).map(shortened)).slice(-TURNS);
  while (turns.length > 1 && sum(turns.map(cost)) > BUDGET_TOKENS) turns.shift();
  return turns.length === 1 ? squeezed(turns[0]) : turns.flat();
}

/** What a message with this content costs. */
export function tokens(content) {
  return MESSAGE_TOKENS + Math.ceil(encoder.encode(content).length / BYTES_A_TOKEN);
}

/** Cut `text` behind at most `keep` code points, at a blank when one is near; add the sign. */
export function shorten(text, keep) {
  const points = Array.from(text);
  let end = keep;
  if (!BLANKS.includes(points[end])) {
    let border = end - 1;
    while (border >= 0 && !BLANKS.includes(points[border])) border -= 1;
    if (border > Math.floor(end / 2)) end = border;
  }
  return points.slice(0, end).join("").replace(TRAILING, "") + CUT;
}

function cleaned(messages) {
  const kept = [];
  for (const message of messages) {
    const { role, content } = message ?? {};
    if ((role !== "user" && role !== "assistant") || typeof content !== "string") continue;
    const text = content.replace(HALVES, "\ufffd").replace(LEADING, "").replace(TRAILING, "");
    if (text) kept.push({ role, content: text });
  }
  return kept;
}

function shortened(message) {
  if (message.role !== "assistant" || Array.from(message.content).length <= REPLY_CHARS) {
    return message;
  }
  return { role: "assistant", content: shorten(message.content, REPLY_CHARS - CUT.length) };
}

function turnsOf(messages) {
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push([message]);
    else if (turns.length) turns.at(-1).push(message);
  }
  return turns;
}

function squeezed([user, ...replies]) {
  while (replies.length && cost([user, ...replies]) > BUDGET_TOKENS) replies.shift();
  if (tokens(user.content) <= BUDGET_TOKENS) return [user, ...replies];
  const room = (BUDGET_TOKENS - MESSAGE_TOKENS) * BYTES_A_TOKEN - encoder.encode(CUT).length;
  let keep = 0;
  let bytes = 0;
  for (const point of user.content) {
    bytes += encoder.encode(point).length;
    if (bytes > room) break;
    keep += 1;
  }
  return [{ role: "user", content: shorten(user.content, keep) }];
}

function cost(turn) {
  return sum(turn.map((message) => tokens(message.content)));
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
