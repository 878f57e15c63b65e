import { describe, expect, test } from "vitest";
import { standIn } from "../../src/config/config-keys.ts";
import { inspectRotation, type Rotation } from "../../src/rotate/inspect.ts";
import { changesFrom } from "../../src/rotate/validate/previous.ts";
import { mistakesIn } from "../../src/rotate/validate/mistakes.ts";
import { neededLeadMs, warningsFor, type Expectations } from "../../src/rotate/validate/warnings.ts";
import type { SourceFile } from "../../src/rotate/source.ts";

// What `rotate validate` finds in a schedule, and in a change of one, at each bound.

const NOW = Date.parse("2026-07-01T00:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (hours: number): string => new Date(NOW + hours * HOUR).toISOString();

interface Key {
  readonly id: string;
  readonly announced: number;
  readonly active: number;
  readonly signer?: string;
  readonly emergency?: number;
}

const SIGNERS = new Map<string, ReturnType<typeof standIn>>();
function signerFor(id: string) {
  const signer = SIGNERS.get(id) ?? standIn();
  SIGNERS.set(id, signer);
  return signer;
}

/** Hours are relative to now. */
function rotationOf(keys: readonly Key[], options: object = {}): Rotation {
  const entries = keys.map(({ id, announced, active, emergency }) => ({
    keyId: id,
    signer: `local:${id}.pem`,
    announcedFrom: at(announced),
    activeFrom: at(active),
    ...(emergency === undefined ? {} : { emergencyAt: at(emergency) }),
  }));
  const schedule = { entries, maxTokenLifetimeSeconds: 3600, ...options } as never;
  return inspectRotation(schedule, { path: "keys", now: NOW, signerOf: (index) => signerFor(keys[index]?.id ?? "") });
}

const EXPECTED: Expectations = { now: NOW, entriesPath: "keys.entries", optionsPath: "keys." };
const shown = (
  findings: readonly { level: string; rule: string; path: string; text: string; todo?: string | undefined }[],
) => findings.map(({ level, rule, path, text, todo }) => `${level} ${rule} ${path}: ${text} → ${todo}`);

const OLD: Key = { id: "old", announced: -9000, active: -9000 };
const NEXT: Key = { id: "next", announced: 10, active: 34 };

describe("a schedule", () => {
  test.each<[what: string, keys: readonly Key[], expected: Partial<Expectations>, options?: object]>([
    ["is fine", [OLD, NEXT], {}],
    ["has no key", [], {}],
    ["has no next key", [OLD], {}],
    ["has no next key within a day", [OLD], { nextWithinMs: DAY }],
    ["has a next key at the bound", [OLD, NEXT], { nextWithinMs: 34 * HOUR }],
    ["has a next key after the bound", [OLD, NEXT], { nextWithinMs: 34 * HOUR - 1 }],
    ["is announced for as long as caches keep the set", [OLD, NEXT], { longestCacheMs: 24 * HOUR }],
    ["is announced for less", [OLD, NEXT], { longestCacheMs: 24 * HOUR + 1 }],
    [
      "was announced for less, which is over",
      [OLD, { id: "next", announced: -30, active: -6 }],
      { longestCacheMs: 30 * HOUR },
    ],
    [
      "was announced for less, which still matters",
      [OLD, { id: "next", announced: -30, active: -6 }],
      { longestCacheMs: 30 * HOUR + 1 },
    ],
    ["begins with a late key", [{ id: "a", announced: -1, active: 0 }], { longestCacheMs: DAY }],
    ["has an emergency now", [OLD, { id: "s", announced: 0, active: -1, emergency: 0 }], {}],
    ["has an emergency ahead", [OLD, { id: "s", announced: 1, active: -1, emergency: 1 }], {}],
    ["has an emergency of its first key", [{ id: "s", announced: 0, active: -1, emergency: 0 }], {}],
    ["has tokens that live as said", [OLD, NEXT], { longestTokenMs: HOUR }],
    ["has tokens that live longer", [OLD, NEXT], { longestTokenMs: HOUR + 60_000 }],
    ["has tokens that live longer, and no other key", [OLD], { longestTokenMs: 2 * HOUR }],
    ["has no key, and tokens that live longer", [], { longestTokenMs: 2 * HOUR }],
  ])("that %s", (_what, keys, expected, options) => {
    expect(shown(warningsFor(rotationOf(keys, options), { ...EXPECTED, ...expected }))).toMatchSnapshot();
  });

  test("needs the longer of what its headers allow and what is expected", () => {
    const rotation = rotationOf([OLD]);
    expect(neededLeadMs(rotation, EXPECTED)).toBe(rotation.leadMs);
    expect(neededLeadMs(rotation, { ...EXPECTED, longestCacheMs: 1 })).toBe(rotation.leadMs);
    expect(neededLeadMs(rotation, { ...EXPECTED, longestCacheMs: 1e12 })).toBe(1e12);
  });
});

describe("a change of a schedule", () => {
  const NEW: Key = { id: "new", announced: -10, active: 30 };
  test.each<
    [what: string, before: readonly Key[], after: readonly Key[], options?: { before?: object; after?: object }]
  >([
    ["is none", [OLD, NEW], [OLD, NEW]],
    ["removes the key that signs", [OLD, NEW], [NEW]],
    ["removes a key that never signed", [OLD, NEW], [OLD]],
    [
      "removes a key that retires",
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      [{ id: "b", announced: -30, active: -0.5 }],
    ],
    [
      "removes a key that was withdrawn",
      [OLD, { id: "b", announced: -30, active: -5 }],
      [{ id: "b", announced: -30, active: -5 }],
    ],
    [
      "removes a key that was dropped",
      [OLD, { id: "b", announced: -3000, active: -2000 }],
      [{ id: "b", announced: -3000, active: -2000 }],
    ],
    ["adds a key that was never shown", [OLD], [OLD, { id: "n", announced: -48, active: 3 }]],
    ["adds a key that was never shown, and signs later", [OLD], [OLD, { id: "n", announced: -48, active: 48 }]],
    ["adds a key that is announced now", [OLD], [OLD, { id: "n", announced: 0, active: 3 }]],
    ["adds a key that has stopped signing", [OLD], [{ id: "n", announced: -9500, active: -9400 }, OLD]],
    ["says that a key was announced before it was", [OLD, NEW], [OLD, { ...NEW, announced: -40, active: 1 }]],
    ["lets a key sign earlier", [OLD, NEW], [OLD, { ...NEW, active: 20 }]],
    [
      "brings a key back",
      [OLD, { id: "b", announced: -30, active: -5 }],
      [
        { ...OLD, active: -9000 },
        { id: "b", announced: -30, active: -5 },
        { id: "old2", announced: -30, active: 9 },
      ],
    ],
    ["hides a key again", [OLD, NEW], [OLD, { ...NEW, announced: 1 }]],
    ["hides a key that was not shown", [OLD, NEXT], [OLD, { ...NEXT, announced: 12, active: 40 }]],
    ["hides a key until now", [OLD, NEW], [OLD, { ...NEW, announced: 0 }]],
    ["withdraws the key that signs early", [OLD, NEW], [OLD, { ...NEW, announced: -10, active: -3 }]],
    [
      "withdraws a key that retires early",
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      [OLD, { id: "b", announced: -30, active: -2 }],
    ],
    [
      "has shorter tokens",
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      { before: { maxTokenLifetimeSeconds: 7200 }, after: { maxTokenLifetimeSeconds: 60 } },
    ],
    [
      "has longer tokens",
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      [OLD, { id: "b", announced: -30, active: -0.5 }],
      { after: { maxTokenLifetimeSeconds: 7200 } },
    ],
    ["gives a key another signer", [OLD, { ...NEW, signer: "a" }], [OLD, { ...NEW, signer: "b" }]],
    ["gives a key a signer", [OLD, NEW], [OLD, { ...NEW, signer: "b" }]],
    ["takes a signer from a key", [OLD, { ...NEW, signer: "b" }], [OLD, NEW]],
  ])("that %s", (_what, before, after, options = {}) => {
    const compared = (keys: readonly Key[], more: object = {}) => ({
      rotation: rotationOf(keys, more),
      signerOf: ({ index }: { readonly index: number }) => keys[index]?.signer,
    });
    const found = changesFrom(compared(before, options.before), compared(after, options.after), EXPECTED);
    expect(shown(found)).toMatchSnapshot();
  });
});

describe("a file", () => {
  const good = { issuer: "https://op.example", keys: [{ keyId: "a", signer: "local:a.pem" }] };
  const entries = [{ keyId: "a", signer: "local:a.pem", announcedFrom: at(-9), activeFrom: at(-9) }];
  const schedule = { maxTokenLifetimeSeconds: 60, entries };
  const P256 = {
    kty: "EC",
    crv: "P-256",
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  };
  test.each<[what: string, value: unknown, isBare?: boolean]>([
    ["is good", good],
    ["is a good schedule", schedule, true],
    ["has a good schedule", { ...good, keys: schedule }],
    ["is a text", "x"],
    ["is empty", {}],
    ["is an empty schedule", {}, true],
    ["has a wrong issuer", { ...good, issuer: "op" }],
    ["has an insecure issuer", { ...good, issuer: "http://op.internal" }],
    ["has an insecure issuer that is allowed", { ...good, issuer: "http://op.internal", allowInsecureIssuer: true }],
    ["has a wrong permission", { ...good, allowInsecureIssuer: "yes" }],
    ["has a wrong prefix", { ...good, mountPrefix: "oidc/" }],
    ["has wrong endpoints", { ...good, endpoints: { jwks: "keys" } }],
    ["has a wrong scheme", { ...good, keys: [{ signer: "awskm:///alias/op" }] }],
    ["has a scheme that is near nothing", { ...good, keys: [{ signer: "zzzzzzzz:///op" }] }],
    ["has no scheme", { ...good, keys: [{ signer: "op.pem" }] }],
    [
      "has a wrong scheme in its schedule",
      { ...good, keys: { ...schedule, entries: [{ ...entries[0], signer: "valt:///x/keys/y" }] } },
    ],
    ["is a schedule with a wrong scheme", { ...schedule, entries: [{ ...entries[0], signer: "gcpkm:x" }] }, true],
    ["has two keys with a kid", { ...good, keys: [good.keys[0], good.keys[0]] }],
    ["has an entry that is none", { ...good, keys: [good.keys[0], 7, {}] }],
    ["has a public key first", { ...good, keys: [{ publicKey: P256 }] }],
    ["has wrong encryption keys", { ...good, encryptionKeyset: [{ publicKey: { kty: "x" } }] }],
    ["has wrong legacy keys", { ...good, legacyVerificationKeys: 7 }],
    [
      "has wrong encryption keys with a schedule",
      { ...good, keys: schedule, encryptionKeyset: [{ publicKey: { kty: "x" } }] },
    ],
    ["has a secret", { ...good, adapters: { pkcs11: { pin: "secret-1234" } } }],
    ["has wrong times", { ...good, keys: { ...schedule, entries: [{ ...entries[0], activeFrom: "soon" }] } }],
  ])("that %s", (_what, value, isBare = false) => {
    const file = { value, isBare, name: "op.json", path: "/op.json" } as unknown as SourceFile;
    const found = shown(mistakesIn(file, [], NOW));
    expect(found.join("\n")).not.toContain("secret-1234");
    expect(found).toMatchSnapshot();
  });
});
