import { ok } from "node:assert/strict";
import { inspect } from "node:util";

/** Asserts that a log line with this error, or with one of its causes, contains no secret and not the digest. */
export function assertErrorKeepsSecrets(
  error: unknown,
  secrets: readonly string[],
  digest: Uint8Array,
  what: string,
): void {
  for (const [part, text] of printedForms(error)) assertTextKeepsSecrets(text, secrets, digest, `${part} of ${what}`);
}

/** Same, for any other value that may be logged. */
export function assertValueKeepsSecrets(value: unknown, secrets: readonly string[], what: string): void {
  assertTextKeepsSecrets(printed(value), secrets, undefined, what);
  assertTextKeepsSecrets(toJson(value), secrets, undefined, `JSON of ${what}`);
}

function assertTextKeepsSecrets(
  text: string,
  secrets: readonly string[],
  digest: Uint8Array | undefined,
  what: string,
): void {
  const haystack = withoutSpace(text);
  // The message contains the index, since the secret itself must not be printed again.
  secrets.forEach((secret, index) => {
    ok(!secretForms(secret).some((form) => haystack.includes(form)), `${what} shows secrets[${index}]`);
  });
  if (digest !== undefined) ok(!byteForms(digest).some((form) => haystack.includes(form)), `${what} shows the digest`);
}

function* printedForms(error: unknown): Generator<[part: string, text: string]> {
  yield ["util.inspect", printed(error)];
  const seen = new Set<unknown>();
  for (let link = error, depth = 0; link instanceof Error && !seen.has(link); link = link.cause, depth += 1) {
    seen.add(link);
    const where = depth === 0 ? "" : ` of cause ${depth}`;
    yield [`message${where}`, link.message];
    yield [`stack${where}`, link.stack ?? ""];
    yield [`JSON${where}`, toJson(link)];
  }
}

function printed(value: unknown): string {
  return inspect(value, { depth: Infinity, maxArrayLength: null, maxStringLength: null, breakLength: Infinity });
}

/** Like JSON.stringify, but it also prints circular objects and big integers, so that every error can be searched. */
function toJson(value: unknown): string {
  const ancestors = new WeakSet();
  const text = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member === "bigint") return String(member);
    if (typeof member !== "object" || member === null) return member;
    if (ancestors.has(member)) return undefined;
    ancestors.add(member);
    return member;
  });
  return text ?? "";
}

function secretForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [withoutSpace(secret), withoutSpace(json), encodeURIComponent(secret), ...byteForms(Buffer.from(secret))];
}

/** The usual text forms of bytes: hexadecimal, base64 and base64url, decimal lists, and the JSON of a Uint8Array. */
function byteForms(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes);
  const hex = buffer.toString("hex");
  const base64 = buffer.toString("base64url");
  const decimal = [...buffer].join(",");
  const members = JSON.stringify(Uint8Array.from(bytes)).slice(1, -1);
  return [hex, hex.toUpperCase(), base64, buffer.toString("base64").replace(/=+$/, ""), decimal, members];
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, "");
}
