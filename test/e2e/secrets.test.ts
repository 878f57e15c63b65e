import { channel } from "node:diagnostics_channel";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { createLeakFinder } from "@signpost/test-backends/leak-finder";
import { CHANNELS, watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedJwt, markedKey, markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { shownTexts } from "@signpost/test-backends/shown-texts";

// The search for secrets finds each form of one, in each place. A search that finds nothing proves nothing otherwise.

const secret = markedText("a planted secret");
const word = markedWord("a planted word");
const key = markedKey("a planted key");
const bytes = Buffer.from(secret.text);

/** What an encoding makes of a secret, with other text around it. */
const FORMS: Readonly<Record<string, string>> = {
  "as it is": `token ${secret.text} refused`,
  "its first 12 characters": `token ${secret.text.slice(0, 12)}… refused`,
  "8 characters of its middle": `…${secret.text.slice(3, 11)}…`,
  "its last 8 characters": secret.text.slice(-8),
  "in lower case, as a host": `https://${word.text.toLowerCase()}.example`,
  reversed: [...secret.text].toReversed().join(""),
  "8 characters, reversed": [...secret.text].toReversed().join("").slice(2, 10),
  base64: bytes.toString("base64"),
  "base64, after 1 byte": Buffer.from(`:${secret.text}`).toString("base64"),
  "base64, after 2 bytes": Buffer.from(`a:${secret.text}`).toString("base64"),
  "base64url in a JWT": `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ a: secret.text })).toString("base64url")}.`,
  "base64 in lines": bytes.toString("base64").replaceAll(/(.{10})/g, "$1\n"),
  "base64 of base64": Buffer.from(bytes.toString("base64")).toString("base64"),
  hex: bytes.toString("hex"),
  "hex in upper case": bytes.toString("hex").toUpperCase(),
  "hex with colons": bytes.toString("hex").replaceAll(/(..)(?=.)/g, "$1:"),
  "hex after a digit": `0${bytes.toString("hex")}`,
  "escaped for a URL": `https://host.example/?a=${encodeURIComponent(secret.text)}`,
  "each byte escaped for a URL": bytes.toString("hex").replaceAll(/../g, "%$&"),
  "escaped twice for a URL": encodeURIComponent(encodeURIComponent(secret.text)),
  "escaped for JSON": JSON.stringify({ a: secret.text }),
  "JSON in JSON": JSON.stringify(JSON.stringify({ a: secret.text })),
  "each character escaped for JSON": bytes.toString("hex").replaceAll(/../g, String.raw`\u00$&`),
  "escaped for JavaScript": bytes.toString("hex").replaceAll(/../g, String.raw`\x$&`),
  "escaped for HTML": secret.text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;"),
  "each character escaped for HTML": bytes.toString("hex").replaceAll(/../g, "&#x$&;"),
  "a Buffer": inspect(bytes),
  "a Uint8Array": inspect(new Uint8Array(bytes)),
  "a Uint8Array in JSON": JSON.stringify(new Uint8Array(bytes)),
  "a Buffer in JSON": JSON.stringify(bytes),
  "a list of numbers": [...bytes].join(", "),
  "in two parts": inspect({ a: `${"x".repeat(90)}${secret.text}` }, { breakLength: 40 }),
  "with a line end inside": `${secret.text.slice(0, 4)}\n${secret.text.slice(4, 12)}`,
};

describe("a part of a secret is found", () => {
  const find = createLeakFinder([secret, word]);
  test.each(Object.entries(FORMS))("%s", (_form, text) => {
    expect(find(text)).not.toEqual([]);
    expect(find(`before ${text} after`)).not.toEqual([]);
  });

  test.each([
    ["PEM", key.pem],
    ["PEM of SEC1", key.sec1],
    ["PEM on one line", key.pem.replaceAll("\n", String.raw`\n`)],
    ["a JWK", JSON.stringify(key.jwk)],
    ["hex", Buffer.from(key.bytes).toString("hex")],
    ["openssl's colons", inspect(key.bytes)],
  ])("of a private key in %s", (_form, text) => {
    expect(createLeakFinder([key])(text)).not.toEqual([]);
  });

  test("of a claim and of the signature of a JWT", () => {
    const { jwt, secrets } = markedJwt("a planted JWT");
    const [header = "", claims = "", signature = ""] = jwt.split(".");
    const find = createLeakFinder(secrets);
    expect(find(header)).toEqual([]);
    expect(find(claims).map((leak) => leak.secret)).toEqual(["claim of a planted JWT"]);
    expect(find(signature).map((leak) => leak.secret)).toEqual(["signature of a planted JWT"]);
  });
});

test.each([
  "",
  "the key was not found",
  secret.text.slice(0, 7),
  [...bytes].slice(0, 7).join(","),
  JSON.stringify(key.key.type),
  JSON.stringify({ ...key.jwk, d: undefined }),
  inspect(process.versions),
])("what is no part of a secret is not found: %s", (text) => {
  expect(createLeakFinder([secret, key])(text)).toEqual([]);
});

/** An object with a secret in one place. */
const HIDDEN: Readonly<Record<string, () => unknown>> = {
  message: () => new Error(secret.text),
  stack: () => Object.defineProperty(new Error("a"), "stack", { value: `Error: a\n    at ${secret.text}` }),
  name: () => Object.assign(new Error("a"), { name: secret.text }),
  cause: () => new Error("a", { cause: new Error("b", { cause: new Error(secret.text) }) }),
  "a cause that is a text": () => new Error("a", { cause: secret.text }),
  "an error of an AggregateError": () => new Error("a", { cause: new AggregateError([new Error(secret.text)], "b") }),
  "a member": () =>
    Object.assign(new Error("a"), { response: { headers: { authorization: `Bearer ${secret.text}` } } }),
  "a member that is not enumerable": () =>
    Object.defineProperty(new Error("a"), "request", { value: { body: secret.text } }),
  "a member with a symbol": () => Object.assign(new Error("a"), { [Symbol("request")]: secret.text }),
  "the name of a member": () => Object.assign(new Error("a"), { [secret.text]: 1 }),
  "a getter": () =>
    Object.defineProperty({}, "token", {
      get: () => secret.text,
    }),
  "a getter of its class": () =>
    new (class extends Error {
      get token(): string {
        return secret.text;
      }
    })("a"),
  "a method toJSON": () => ({ toJSON: () => ({ a: secret.text }) }),
  "a method toString": () => ({ toString: () => secret.text }),
  "a Map": () => new Error("a", { cause: new Map([["token", secret.text]]) }),
  "a Set": () => new Error("a", { cause: new Set([secret.text]) }),
  bytes: () => Object.assign(new Error("a"), { body: Buffer.from(`a=${secret.text}`) }),
  "a URL": () =>
    Object.assign(new Error("a"), { url: new URL(`https://host.example/?a=${encodeURIComponent(secret.text)}`) }),
  headers: () => Object.assign(new Error("a"), { headers: new Headers({ authorization: secret.text }) }),
  "a list in a list": () => [undefined, [secret.text]],
};

describe("a secret in a value is found", () => {
  const find = createLeakFinder([secret]);
  test.each(Object.entries(HIDDEN))("%s", (_place, make) => {
    expect(shownTexts(make(), "a value").flatMap(({ text }) => find(text))).not.toEqual([]);
  });

  test("also in an object that throws, or that holds itself", () => {
    const self: { self?: unknown; token: string } = { token: secret.text };
    self.self = self;
    const throwing = new Proxy(self, {
      ownKeys: () => {
        throw new Error("no");
      },
    });
    expect(shownTexts(self, "a value").flatMap(({ text }) => find(text))).not.toEqual([]);
    expect(() => shownTexts(throwing, "a value")).not.toThrow();
  });
});

/** Each place that is watched. */
const SINKS: Readonly<Record<string, (text: string) => unknown>> = {
  "a warning": (text) => process.emitWarning(text),
  "the standard output": (text) => process.stdout.write(text),
  "the standard error": (text) => process.stderr.write(text),
  "the console": (text) => console.error(text),
  ...Object.fromEntries(
    CHANNELS.map((name) => [`the channel ${name}`, (text: string) => channel(name).publish({ uri: text })]),
  ),
};

describe("a leak is reported", () => {
  test.each(Object.entries(SINKS))("through %s", async (_sink, leak) => {
    using watch = watchLeaks([secret]);
    leak(`the token ${secret.text} was refused\n`);
    await setImmediate();
    expect(watch.leaks()).toContainEqual(expect.stringContaining("a planted secret (as it is)"));
  });

  test("through an error of a call, and through its result", async () => {
    using watch = watchLeaks([secret]);
    await watch.sawCall(() => Promise.reject(new Error(secret.text)), "a call that fails");
    await watch.sawCall(() => ({ uri: secret.text }), "a call");
    const found = watch.leaks().join("\n");
    expect(found).toContain("a call that fails");
    expect(found).toContain("the result of a call");
  });

  test("and nothing else is", async () => {
    using watch = watchLeaks([secret]);
    await watch.sawCall(() => Promise.reject(new TypeError("no")), "a call that fails");
    expect(watch.leaks()).toEqual([]);
  });
});

test("every channel of Signpost is watched", () => {
  const packages = fileURLToPath(new URL("../../packages", import.meta.url));
  const names = readdirSync(packages)
    .map((name) => join(packages, name, "src"))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => [...readFileSync(path, "utf8").matchAll(/_CHANNEL\b[^=]*= "(signpost:\w+)"/g)])
    .map(([, name = ""]) => name);
  expect([...new Set(names)].toSorted()).toEqual([...CHANNELS].toSorted());
});

test("every package has a test of its failures with marked secrets", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const own = (name: string): boolean =>
    readdirSync(join(root, "packages", name, "test")).some((file) => /^secrets.*\.test\.ts$/.test(file));
  const together = readFileSync(join(root, "test/e2e/secrets-arguments.test.ts"), "utf8");
  const missing = readdirSync(join(root, "packages")).filter(
    (name) => !own(name) && !together.includes(`from "@signpost/${name}"`),
  );
  expect(missing).toEqual([]);
});
