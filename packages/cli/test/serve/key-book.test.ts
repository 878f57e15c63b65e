import { createPublicKey } from "node:crypto";
import { SignerError, type GuardedSigner, type KeySetEntry, type Signer } from "@signpost/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { standIn } from "../../src/config/config-keys.ts";
import type { LoadedConfig } from "../../src/config/load-config.ts";
import type { AdapterOptions } from "../../src/keys/adapters.ts";
import type { AskPin } from "../../src/keys/secrets.ts";
import { createKeyBook, unopenedEntries } from "../../src/serve/live/key-book.ts";
import { RFC_KEY } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// Which keys a server opens for a configuration, which it knows from before, and what it makes of each entry.

const backend = vi.hoisted(() => ({
  opened: [] as string[],
  closed: 0,
  /** The adapters of each opener that was made. */
  openers: [] as Readonly<Record<string, AdapterOptions>>[],
  askers: 0,
  asked: [] as string[],
  open: async (_uri: string, _ask: AskPin): Promise<void> => undefined,
}));
vi.mock("../../src/keys/open-key.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  keyOpener: (_context: object, adapters: Readonly<Record<string, AdapterOptions>>, ask: AskPin) => {
    backend.openers.push(adapters);
    return async (uri: string): Promise<GuardedSigner> => {
      backend.opened.push(uri);
      await backend.open(uri, ask);
      const close = async (): Promise<void> => void (backend.closed += 1);
      return { publicKey: keyOf(uri), close } as unknown as GuardedSigner;
    };
  },
}));
vi.mock("../../src/keys/secrets.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  pinAsker: () => {
    backend.askers += 1;
    const asker = backend.askers;
    return async (token: string) => {
      backend.asked.push(`${asker} ${token}`);
      return "1234";
    };
  },
}));
beforeEach(() => {
  Object.assign(backend, { closed: 0, askers: 0, open: async () => undefined });
  for (const list of [backend.opened, backend.openers, backend.asked]) list.length = 0;
});

const keys = new Map<string, GuardedSigner["publicKey"]>();
function keyOf(uri: string): GuardedSigner["publicKey"] {
  const key = keys.get(uri) ?? standIn().publicKey;
  keys.set(uri, key);
  return key;
}

const A = { keyId: "a", signer: "vault:///transit/keys/a" };
const B = { keyId: "b", signer: "vault:///transit/keys/b" };
const AWAY = new SignerError("unavailable", "no answer");

function configOf(list: readonly object[], more: Partial<Config> = {}): LoadedConfig {
  return { name: "op.json", config: { issuer: "https://op.example", keys: list, ...more } };
}

function bookWith(signal = new AbortController().signal) {
  const kept: [string, unknown][] = [];
  const context = { ...recordingContext("/"), signal };
  return { book: createKeyBook(context, (place, error) => void kept.push([place, error])), kept };
}

const signerOf = (entry: KeySetEntry | undefined): Signer | undefined =>
  entry !== undefined && "signer" in entry ? entry.signer : undefined;
const shown = (entries: readonly KeySetEntry[]): readonly unknown[] =>
  entries.map((entry) => [entry.keyId, signerOf(entry)?.publicKey]);

describe("a key with a URI", () => {
  test("is opened once, and closed at once", async () => {
    const { book } = bookWith();
    const expected = [
      ["a", keyOf(A.signer)],
      ["b", keyOf(B.signer)],
    ];
    for (let count = 0; count < 3; count += 1) {
      expect(shown(await book.read(configOf([A, B]), false))).toEqual(expected);
    }
    expect([backend.opened, backend.closed, backend.openers.length]).toEqual([[A.signer, B.signer], 2, 1]);
  });

  test("is opened again when that is wanted, and its new public key counts", async () => {
    const { book } = bookWith();
    await book.read(configOf([A]), false);
    keys.delete(A.signer);
    expect(shown(await book.read(configOf([A]), true))).toEqual([["a", keyOf(A.signer)]]);
    expect(shown(await book.read(configOf([A]), false))).toEqual([["a", keyOf(A.signer)]]);
    expect(backend.opened).toEqual([A.signer, A.signer]);
  });

  test("is opened again with other options, and not with equal ones", async () => {
    const { book } = bookWith();
    const withAddress = (address: string): LoadedConfig => configOf([A], { adapters: { vault: { address } } });
    await book.read(withAddress("https://a.example"), false);
    await book.read(withAddress("https://a.example"), false);
    expect(backend.opened).toHaveLength(1);
    await book.read(withAddress("https://b.example"), false);
    await book.read(configOf([A]), false);
    expect(backend.openers).toEqual([
      { vault: { address: "https://a.example" } },
      { vault: { address: "https://b.example" } },
      {},
    ]);
  });

  test("is known although another configuration came between", async () => {
    const { book } = bookWith();
    for (const list of [[A], [B], [A]]) await book.read(configOf(list), false);
    expect(backend.opened).toEqual([A.signer, B.signer]);
  });
});

describe("a key that cannot be opened", () => {
  test("is told with its place", async () => {
    backend.open = () => Promise.reject(AWAY);
    const { book, kept } = bookWith();
    const entries = [{ ...A, announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" }];
    const schedule = { maxTokenLifetimeSeconds: 60, entries } as never;
    await expect(book.read(configOf([A]), false)).rejects.toMatchObject({
      code: "unavailable",
      message: "op.json: keys[0].signer: no answer",
    });
    await expect(book.read(configOf([], { keys: schedule }), true)).rejects.toMatchObject({
      message: "op.json: keys.entries[0].signer: no answer",
    });
    expect(kept).toEqual([]);
  });

  test("is the one that was read before, which is told", async () => {
    const { book, kept } = bookWith();
    const before = shown(await book.read(configOf([A, B]), false));
    backend.open = async (uri) => {
      if (uri === B.signer) throw AWAY;
    };
    expect(shown(await book.read(configOf([A, B]), true))).toEqual(before);
    expect(kept).toEqual([["keys[1].signer", AWAY]]);
  });

  test("is not the one that was read with other options", async () => {
    const { book, kept } = bookWith();
    await book.read(configOf([A]), false);
    backend.open = () => Promise.reject(AWAY);
    const other = configOf([A], { adapters: { vault: { address: "https://b.example" } } });
    await expect(book.read(other, true)).rejects.toMatchObject({ code: "unavailable" });
    expect(kept).toEqual([]);
    expect(shown(await book.read(configOf([A]), false))).toEqual([["a", keyOf(A.signer)]]);
  });

  test("is not kept by a server that ends", async () => {
    const ending = new AbortController();
    const { book, kept } = bookWith(ending.signal);
    await book.read(configOf([A]), false);
    backend.open = async () => {
      ending.abort();
      throw AWAY;
    };
    await expect(book.read(configOf([A]), true)).rejects.toMatchObject({ code: "unavailable" });
    expect(kept).toEqual([]);
  });

  test.each([
    ["pin_incorrect", ["1 token", "2 token"]],
    ["pin_locked", ["1 token", "1 token"]],
    ["unavailable", ["1 token", "1 token"]],
  ] as const)("because of %s asks %j for a PIN", async (code, asked) => {
    const { book } = bookWith();
    backend.open = async (_uri, ask) => {
      await ask("token");
      throw new SignerError(code, "no");
    };
    for (let count = 0; count < 2; count += 1) await expect(book.read(configOf([A]), false)).rejects.toThrow("no");
    expect(backend.asked).toEqual(asked);
  });
});

const { d: _private, ...PUBLIC } = RFC_KEY;
const PEM = createPublicKey({ key: PUBLIC, format: "jwk" }).export({ type: "spki", format: "pem" }).toString();

describe("an entry", () => {
  test("with a public key alone has a stand-in for it, and opens nothing", async () => {
    const { book } = bookWith();
    const certificates = { chain: "x" };
    const entries = await book.read(
      configOf([
        { keyId: "jwk", publicKey: { ...PUBLIC, kid: "x", alg: "ES256" } },
        { keyId: "pem", publicKey: PEM, certificates },
      ]),
      true,
    );
    expect(shown(entries)).toEqual([
      ["jwk", { ...PUBLIC, kid: "x", alg: "ES256" }],
      ["pem", PUBLIC],
    ]);
    expect(entries.map((entry) => Object.keys(entry).toSorted())).toEqual([
      ["keyId", "signer"],
      ["certificates", "keyId", "signer"],
    ]);
    expect([backend.opened, backend.openers]).toEqual([[], []]);
    await expect(signerOf(entries[0])?.sign(new Uint8Array(32))).rejects.toThrow();
  });

  test("with a URI has no other members than it had", async () => {
    const [entry] = await bookWith().book.read(configOf([{ ...A, certificates: { chain: "x" } }]), false);
    expect(Object.keys(entry ?? {}).toSorted()).toEqual(["certificates", "keyId", "signer"]);
  });

  test("with neither is for the key set to refuse", async () => {
    const loaded = configOf([{ keyId: "none" }]);
    expect(await bookWith().book.read(loaded, false)).toEqual([{ keyId: "none" }]);
    expect(await unopenedEntries(loaded)).toEqual([{ keyId: "none" }]);
  });

  test("with a public key that is none is told with its place", async () => {
    const loaded = configOf([{ publicKey: { ...PUBLIC, x: "AA" } }]);
    const message = expect.stringMatching(/^op\.json: keys\[0\]\.publicKey: /);
    await expect(bookWith().book.read(loaded, false)).rejects.toMatchObject({ exitCode: 2, message });
    await expect(unopenedEntries(loaded)).rejects.toMatchObject({ exitCode: 2, message });
  });
});

describe("before any key is opened", () => {
  test("each URI has its key, without certificates", async () => {
    const entries = await unopenedEntries(configOf([A, { ...B, certificates: { chain: "x" } }, { publicKey: PEM }]));
    expect(entries.map((entry) => Object.keys(entry).toSorted())).toEqual([
      ["keyId", "signer"],
      ["keyId", "signer"],
      ["signer"],
    ]);
    expect(new Set(entries.map((entry) => signerOf(entry)?.publicKey.x)).size).toBe(3);
    expect(backend.opened).toEqual([]);
  });

  test("a URI of no backend is told with its place", async () => {
    await expect(unopenedEntries(configOf([A, { signer: "none:x" }]))).rejects.toMatchObject({
      code: "unknown_scheme",
      message: "op.json: keys[1].signer: The key URI begins with the scheme of no backend",
    });
  });
});
