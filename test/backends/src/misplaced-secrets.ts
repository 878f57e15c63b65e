import { chosen, partners } from "./chosen.ts";
import { markedKey, markedText, type MarkedSecret, type MarkedText } from "./marked-secrets.ts";

// A secret that was given in place of something else: a mistake of a caller, which ends in a log.

/** The secrets that `misplacedIn` uses. */
export interface Misplaced {
  readonly secrets: readonly MarkedSecret[];
  /** A secret in each form in which it can stand in the wrong place. */
  readonly all: readonly (readonly [what: string, value: unknown])[];
  /** Some of them. */
  readonly values: readonly (readonly [what: string, value: unknown])[];
}

/** A text with every special character, and a private key, each in many shapes. */
export function misplacedSecrets(name: string): Misplaced {
  const text = markedText(name);
  const key = markedKey(name);
  const all = [...shapesOf(text), ...keyShapes(key)];
  return { secrets: [text, key], all, values: chosen(all, 9) };
}

function shapesOf({ text }: MarkedText): Misplaced["values"] {
  const url = `https://user:${encodeURIComponent(text)}@host.example/${encodeURIComponent(text)}?a=${encodeURIComponent(text)}#b`;
  return [
    ["a text", text],
    ["a list of texts", [text]],
    ["an object with a text", { secret: text }],
    ["an object with a name", { [text]: true }],
    ["a name in an object in an object", { secret: { [text]: text } }],
    ["a URL with a password", url],
    ["a URL object", new URL(url)],
    ["a URI of a scheme", `local:${text}`],
    ["bytes", Buffer.from(text)],
    ["a symbol", Symbol(text)],
    ["an error", new Error(text, { cause: new AggregateError([new Error(text)], text) })],
    ["an instance of a class", new Map([[text, text]])],
    ["text with line ends", `${text}\r\n${text}`],
    ["lone surrogate", `${text}\ud800`],
  ];
}

function keyShapes({ pem, sec1, jwk, key }: ReturnType<typeof markedKey>): Misplaced["values"] {
  return [
    ["a private key in PEM", pem],
    ["a private key in PEM of SEC1", sec1],
    ["a private key in PEM on one line", pem.replaceAll("\n", "")],
    ["a cut private key in PEM", pem.slice(0, -40)],
    ["a private JWK", jwk],
    ["a private JWK as JSON", JSON.stringify(jwk)],
    ["a list of private JWKs", [jwk]],
    ["a JWK Set with a private key", { keys: [jwk] }],
    ["a private KeyObject", key],
    ["a private key in DER", key.export({ format: "der", type: "pkcs8" })],
    ["only the scalar", { kty: "EC", crv: "P-256", d: jwk.d }],
    ["the scalar as x", { ...jwk, x: jwk.d, d: undefined }],
  ];
}

/** At each place, the quick tier of tests tries one in so many values. */
const ONE_IN = 6;

/**
 * The options with a wrong value at each place: for each name in `names`, such as `tls.caFile`, for each member of the options at any
 * depth, and as a name that is unknown.
 */
export function* misplacedIn(
  options: object,
  names: readonly string[],
  { all }: Misplaced,
): Generator<readonly [where: string, options: object]> {
  const places = placesIn(options, names);
  for (const each of all) {
    const [what, value] = each;
    for (const path of partners(all, each, places, ONE_IN))
      yield [`${what} as ${path.join(".")}`, withValue(options, path, value)];
    if (typeof value === "string") yield [`${what} as an unknown option`, { ...options, [value]: value }];
    yield [`${what} as all options`, Object(value) as object];
  }
}

function placesIn(options: object, names: readonly string[]): readonly (readonly string[])[] {
  const inside = Object.entries(options).flatMap(([name, value]) =>
    isPlain(value) ? placesIn(value, []).map((path) => [name, ...path]) : [],
  );
  const outside = [...Object.keys(options), ...names].map((name): readonly string[] => name.split("."));
  return [...outside, ...inside];
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function withValue(options: object, [name = "", ...rest]: readonly string[], value: unknown): object {
  if (rest.length === 0) return { ...options, [name]: value };
  const inner: unknown = Reflect.get(options, name);
  return { ...options, [name]: withValue(isPlain(inner) ? inner : {}, rest, value) };
}
