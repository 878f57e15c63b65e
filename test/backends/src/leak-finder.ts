import type { MarkedSecret } from "./marked-secrets.ts";

/** A part of a secret in a text. */
export interface Leak {
  /** Name of the secret. */
  readonly secret: string;
  /** How it was written: `as it is`, `reversed`, `base64`, `hex of base64`, … */
  readonly form: string;
}

/** Searches a text for parts of secrets. */
export type FindLeaks = (text: string) => readonly Leak[];

/** A part of this many characters or bytes is a leak. In lower case it has to be longer, because it says less. */
const PART = 8;
const LOWER_PART = 12;

/** Encodings are decoded this often, one in the other. */
const MAX_DEPTH = 3;
/** No encoding of a part is shorter. */
const MIN_ENCODED = 11;

/**
 * Finds every part of 8 characters of these secrets: as they are, reversed, in lower case, and in the usual encodings. It decodes the
 * text and not the secret, so that an encoding is found at each position and with anything around it.
 */
export function createLeakFinder(secrets: readonly MarkedSecret[]): FindLeaks {
  const parts = new Map<string, Leak>();
  const lowerParts = new Map<string, Leak>();
  for (const { name: secret, bytes } of secrets) {
    const text = Buffer.from(bytes).toString("latin1");
    addParts(parts, text, PART, { secret, form: "as it is" });
    addParts(parts, reversed(text), PART, { secret, form: "reversed" });
    addParts(lowerParts, text.toLowerCase(), LOWER_PART, { secret, form: "in lower case" });
  }
  const searched = new Map<string, readonly Leak[]>();
  const searchOnce = (text: string): readonly Leak[] => {
    const known = searched.get(text);
    if (known !== undefined) return known;
    const leaks = search(text, parts, lowerParts);
    searched.set(text, leaks);
    return leaks;
  };
  // Most of a text about an error are the same lines of stacks.
  return (text) => {
    const frames = text.match(FRAME) ?? [];
    return [text.replaceAll(FRAME, ""), ...new Set(frames)].flatMap(searchOnce);
  };
}

/** A line of a stack. */
const FRAME = /^[ \t]*at [^\n]*:\d+:\d+\)?$/gm;

function addParts(parts: Map<string, Leak>, text: string, length: number, leak: Leak): void {
  for (let at = 0; at + length <= text.length; at += 1) {
    const part = text.slice(at, at + length);
    if (!parts.has(part)) parts.set(part, leak);
  }
}

function search(
  text: string,
  parts: ReadonlyMap<string, Leak>,
  lowerParts: ReadonlyMap<string, Leak>,
): readonly Leak[] {
  // One for each secret: of a text that has a secret, each decoding has it too.
  const found = new Map<string, Leak>();
  const visit = (binary: string, form: string, depth: number): void => {
    for (const leak of [...partsIn(binary, parts, PART), ...partsIn(binary.toLowerCase(), lowerParts, LOWER_PART)]) {
      if (found.has(leak.secret)) continue;
      const told = [leak.form, form].filter((word) => word !== "").join(", ");
      found.set(leak.secret, { secret: leak.secret, form: told });
    }
    if (depth === MAX_DEPTH || binary.length < MIN_ENCODED) return;
    for (const [encoding, decoded] of decodings(binary)) {
      visit(decoded, form === "" ? encoding : `${encoding} in ${form}`, depth + 1);
    }
  };
  visit(Buffer.from(text).toString("latin1"), "", 0);
  return [...found.values()];
}

function* partsIn(text: string, parts: ReadonlyMap<string, Leak>, length: number): Generator<Leak> {
  for (let at = 0; at + length <= text.length; at += 1) {
    const leak = parts.get(text.slice(at, at + length));
    if (leak !== undefined) yield leak;
  }
}

/** What a text may be an encoding of. The white space of wrapped lines and of `util.inspect` does not count. */
function* decodings(text: string): Generator<readonly [encoding: string, decoded: string]> {
  const dense = text.replaceAll(/\s+|' ?\+|"\d+":|\\n/g, (gap) => (gap.startsWith("'") ? "'" : ""));
  if (dense !== text) yield ["without white space", dense];
  const escapes = unescaped(text);
  if (escapes !== text) yield ["escapes", escapes];
  for (const [run] of dense.matchAll(/(?:[0-9a-fA-F]{2}:?){8,}/g)) {
    const digits = run.replaceAll(":", "");
    for (const start of [0, 1]) yield ["hex", Buffer.from(digits.slice(start), "hex").toString("latin1")];
  }
  for (const [run] of dense.matchAll(/[\w+/-]{11,}/g)) {
    // Somewhere in it, a group of four characters begins.
    for (const start of [0, 1, 2, 3]) yield ["base64", Buffer.from(run.slice(start), "base64").toString("latin1")];
  }
  for (const [run] of dense.matchAll(/(?:\d{1,3},){7,}\d{1,3}/g)) {
    yield ["numbers", Buffer.from(run.split(",").map(Number)).toString("latin1")];
  }
}

/** The escapes of URLs, JSON, JavaScript and HTML. */
const ESCAPE =
  /%([\dA-Fa-f]{2})|\\u00([\dA-Fa-f]{2})|\\x([\dA-Fa-f]{2})|&#x([\dA-Fa-f]{2});|&#(\d{1,3});|\\([^\dnrtux])|&(quot|amp|lt|gt);/g;
const NAMED: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">" };

function unescaped(text: string): string {
  return text.replaceAll(
    ESCAPE,
    (
      _all,
      url?: string,
      json?: string,
      script?: string,
      html?: string,
      decimal?: string,
      single?: string,
      name?: string,
    ) => {
      const hex = url ?? json ?? script ?? html;
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (decimal !== undefined) return String.fromCharCode(Number(decimal));
      return single ?? NAMED[name ?? ""] ?? "";
    },
  );
}

function reversed(text: string): string {
  return [...text].toReversed().join("");
}
