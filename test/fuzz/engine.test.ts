import { ConfigurationError } from "@signpost/core";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { corpusNames, hashName, keepInput, readCorpus } from "./engine/corpus.ts";
import { startCoverage } from "./engine/coverage.ts";
import { isMarked, leakIn, MARKER } from "./engine/leaks.ts";
import { limited } from "./engine/limited.ts";
import { mutate } from "./engine/mutate.ts";
import { createRandom } from "./engine/random.ts";
import { FuzzFailure, runTarget, tryInput } from "./engine/run-target.ts";
import { readFuzzSettings } from "./engine/settings.ts";
import { must, type Structure, type Target } from "./engine/target.ts";
import { LEAF_PEM } from "./targets/certificates.ts";
import { EC_SPKI, ES256_JWS, utf8 } from "./targets/material.ts";

function target(check: Target["check"], more: Partial<Target> = {}): Target {
  return { name: "planted", parsers: [], says: "", structure: "text", seeds: ["a=1;b=2"], check, ...more };
}

const refusing = (message: string) => (): never => {
  throw new ConfigurationError("a", message);
};

async function failure(planted: Target, cases = 400): Promise<FuzzFailure> {
  const error: unknown = await runTarget(planted, { seed: 1, cases, corpus: [] }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FuzzFailure);
  return error as FuzzFailure;
}

describe("a planted fault is found", () => {
  test("a parser that throws something else than one of our errors", async () => {
    const broken = target((input, probe) => {
      return probe.attempt(() => {
        if (utf8(input).includes(";;")) throw new TypeError("undefined is not a function");
        return refusing("no")();
      }).outcome;
    });
    expect((await failure(broken)).message).toContain("threw something else than one of our errors: TypeError");
  });

  test("a parser that throws outside of an attempt", async () => {
    const broken = target((input) => decodeURIComponent(utf8(input)).slice(0, 1));
    expect((await failure(broken)).cause).toBeInstanceOf(URIError);
  });

  test("an error that shows a secret, as it is, in its cause or encoded", async () => {
    const shows = (spell: (text: string) => object) =>
      target(
        (input, probe) =>
          probe.attempt(() => {
            throw new ConfigurationError("a", "no", spell(utf8(input)));
          }).outcome,
      );
    expect((await failure(shows((text) => ({ cause: new Error(text) })))).message).toContain("shows a marked secret");
    expect(
      (await failure(shows((text) => ({ cause: new Error(Buffer.from(text).toString("base64")) })))).message,
    ).toContain("shows a marked secret");
    const allowed = target(
      (input, probe) => probe.attempt(refusing(utf8(input)), { mayShow: "the operator's own" }).outcome,
    );
    await expect(runTarget(allowed, { seed: 1, cases: 400, corpus: [] })).resolves.toBeDefined();
  });

  test("a parser that does not end", () => {
    const endless = (): never => {
      for (;;);
    };
    expect(() => limited(endless, 20)).toThrow("does not end");
    expect(limited(() => 1)).toBe(1);
    expect(() => limited(() => refusing("no")())).toThrow("a: no");
  });

  test("a promise that rejects", async () => {
    const broken = target(async (input) => {
      must(!utf8(input).includes("=="), "an equals sign is there once");
      return "read";
    });
    expect((await failure(broken)).message).toContain("an equals sign is there once");
  });

  test("a value that is wrong for a rare input, which becomes short", async () => {
    const broken = target((input) => {
      must(!/b=[^;]*"/.test(utf8(input)), "no quotes");
      return "read";
    });
    const { input } = await failure(broken, 2000);
    expect(input.length).toBeLessThanOrEqual(4);
    await expect(tryInput(broken, 1, input)).rejects.toThrow("no quotes");
  });
});

test("the same seed makes the same inputs, and another one makes others", async () => {
  const inputs = async (seed: number): Promise<readonly string[]> => {
    const tried: string[] = [];
    const recording = target((input) => {
      tried.push(Buffer.from(input).toString("hex"));
      return String(input.length % 3);
    });
    await runTarget(recording, { seed, cases: 100, corpus: [] });
    return tried;
  };
  const first = await inputs(5);
  expect(await inputs(5)).toEqual(first);
  expect(await inputs(6)).not.toEqual(first);
});

test("an input with a new outcome is told, and later inputs are made of it", async () => {
  const found: string[] = [];
  const deep = target((input) => /^a=1;b=2(;*)/.exec(utf8(input))?.[1] ?? "other");
  await runTarget(deep, { seed: 1, cases: 4000, corpus: [], onNew: (input) => found.push(utf8(input)) });
  expect(found.some((text) => text.startsWith("a=1;b=2;"))).toBe(true);
});

test("the corpus is tried first, and an input that fails in it fails the run", async () => {
  const broken = target((input) => {
    must(utf8(input) !== "exact", "the kept input");
    return "read";
  });
  const corpus = [Buffer.from("exact")];
  await expect(runTarget(broken, { seed: 1, cases: 0, corpus })).rejects.toThrow("the kept input");
});

test.each<[Structure, string | Uint8Array, (input: Uint8Array) => boolean]>([
  ["json", '{"keys":[{"kty":"EC","x":"AA"}],"a":{"b":[1,2]}}', (input) => isJson(utf8(input))],
  ["jwt", ES256_JWS, (input) => isJson(Buffer.from(utf8(input).split(".")[1] ?? "", "base64url").toString())],
  ["der", EC_SPKI, (input) => input[0] === 0x30 && input[1] === input.length - 2],
  [
    "pem",
    LEAF_PEM,
    (input) => /^-----BEGIN CERTIFICATE-----\n[\w+/=\n]+\n-----END CERTIFICATE-----\n$/.test(utf8(input)),
  ],
])("half of the changes of %s keep its structure, and most change something", (structure, seed, isWhole) => {
  const input = typeof seed === "string" ? new Uint8Array(Buffer.from(seed)) : seed;
  const random = createRandom(1, "structure");
  const inputs = Array.from({ length: 300 }, () => mutate({ structure, pool: [input], words: [] }, random));
  expect(inputs.filter(isWhole).length).toBeGreaterThan(140);
  expect(inputs.filter((each) => Buffer.compare(each, input) !== 0).length).toBeGreaterThan(240);
  expect(inputs.filter(isMarked).length).toBeGreaterThan(10);
});

test.each<readonly [place: string, error: Error]>([
  ["in the message", new Error(`no ${MARKER}`)],
  ["a part of 12 characters", new Error(MARKER.slice(0, 12))],
  ["in capitals", new Error(MARKER.toUpperCase())],
  ["in a cause of a cause", new Error("a", { cause: new Error("b", { cause: MARKER }) })],
  ["in a member that is not enumerable", Object.defineProperty(new Error("a"), "hidden", { value: MARKER })],
  ["in a list of errors", new AggregateError([new Error(MARKER)], "all failed")],
  ...[0, 1, 2].map(
    (offset) =>
      [
        `in base64 at the offset ${offset}`,
        new Error(Buffer.from("x".repeat(offset) + MARKER + "y").toString("base64url")),
      ] as const,
  ),
  ["in hexadecimal digits", new Error(Buffer.from(MARKER).toString("hex"))],
])("the marker is found %s", (_place, error) => {
  expect(leakIn(error)).toBeDefined();
  expect(leakIn(new Error("expected a key URI, got a string"))).toBeUndefined();
});

test("kept inputs are read back as they were, once, and in the order of their names", () => {
  const folder = mkdtempSync(join(tmpdir(), "signpost-corpus-"));
  try {
    const input = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect(keepInput("a", input, undefined, folder)).toBe(true);
    expect(keepInput("a", input, "again", folder)).toBe(false);
    expect(keepInput("a", Buffer.from("x"), "a-fault", folder)).toBe(true);
    expect(keepInput("a", new Uint8Array(100_000), undefined, folder)).toBe(false);
    expect(readCorpus("a", folder)).toEqual(
      [
        { name: hashName(input), input },
        { name: "a-fault", input: new Uint8Array([0x78]) },
      ].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    expect(corpusNames(folder)).toEqual(["a"]);
    expect(readCorpus("b", folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("coverage tells code that was reached for the first time", async () => {
  const { parseHttpDate } = await import("../../packages/core/src/http-date.ts");
  const coverage = startCoverage();
  try {
    parseHttpDate("no date", 0);
    expect(coverage.reachedNew()).toBe(true);
    parseHttpDate("none", 0);
    expect(coverage.reachedNew()).toBe(false);
    parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT", 0);
    expect(coverage.reachedNew()).toBe(true);
  } finally {
    coverage.stop();
  }
});

test("the tests have a fixed seed, and npm run fuzz says what else to do", () => {
  expect(readFuzzSettings(undefined)).toMatchObject({ seed: 1, minutes: undefined, grows: false });
  expect(readFuzzSettings('{"targets":["a"],"seed":5,"minutes":1}')).toMatchObject({
    seed: 5,
    cases: Number.POSITIVE_INFINITY,
    grows: true,
  });
  expect(readFuzzSettings('{"targets":["a"],"seed":5,"cases":7}').cases).toBe(7);
  expect(readFuzzSettings('{"targets":["a"],"seed":5,"input":"6162"}')).toMatchObject({
    input: new Uint8Array([0x61, 0x62]),
    grows: false,
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
