import { generateKeyPairSync } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Op } from "./op.ts";
import { shiftTime } from "./shifted-time.ts";

/** How many verifications of a scenario passed, and how many requests they made. */
export interface Outcome {
  readonly verified: number;
  readonly refused: number;
  readonly pending: number;
  readonly requests: number;
}

type Verify = (token: string) => Promise<unknown>;

export interface Scenario {
  readonly name: string;
  run(op: Op, verify: Verify): Promise<Outcome>;
}

/** A verification that has not settled by then counts as pending. */
const PATIENCE_MS = 30_000;
const HOUR = 3600;

async function count(op: Op, verifications: readonly Promise<unknown>[]): Promise<Outcome> {
  const late = Symbol("late");
  const settled = await Promise.all(
    verifications.map(async (verification) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<symbol>((resolve) => {
        timer = setTimeout(() => resolve(late), PATIENCE_MS);
      });
      const result = verification.then(
        () => "verified",
        () => "refused",
      );
      const first = await Promise.race([result, patience]);
      clearTimeout(timer);
      return first;
    }),
  );
  const times = (value: unknown): number => settled.filter((result) => result === value).length;
  // A request in the background may still be on its way.
  await delay(20);
  return { verified: times("verified"), refused: times("refused"), pending: times(late), requests: op.requests() };
}

function atOnce(op: Op, verify: Verify, tokens: readonly string[]): Promise<Outcome> {
  return count(
    op,
    tokens.map((token) => verify(token)),
  );
}

async function oneByOne(op: Op, verify: Verify, tokens: readonly string[]): Promise<Outcome> {
  const total = { verified: 0, refused: 0, pending: 0 };
  for (const token of tokens) {
    const outcome = await count(op, [verify(token)]);
    total.verified += outcome.verified;
    total.refused += outcome.refused;
    total.pending += outcome.pending;
  }
  return { ...total, requests: op.requests() };
}

async function warm(op: Op, verify: Verify): Promise<void> {
  await verify(await op.token());
  op.forget();
}

async function times(amount: number, token: (index: number) => Promise<string>): Promise<string[]> {
  return Promise.all(Array.from({ length: amount }, (_, index) => token(index)));
}

const randomKids = (op: Op): Promise<string[]> => times(100, () => op.tokenWithKid(crypto.randomUUID()));

async function later<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const restore = shiftTime(seconds);
  try {
    return await work();
  } finally {
    restore();
  }
}

function afterOutage(seconds: number): Scenario["run"] {
  return async (op, verify) => {
    const token = await op.token();
    await verify(token);
    op.forget();
    op.misbehave({ down: true });
    return later(seconds, () => oneByOne(op, verify, [token]));
  };
}

/** One verification against a modified set. */
function hostile(name: string, document: (op: Op) => { body: string | Uint8Array; contentType?: string }): Scenario {
  return {
    name,
    async run(op, verify) {
      op.misbehave(document(op));
      return oneByOne(op, verify, [await op.token()]);
    },
  };
}

const entriesFirst =
  (...entries: readonly unknown[]) =>
  (op: Op): { body: string } => ({ body: JSON.stringify({ keys: [...entries, ...op.publishedKeys()] }) });

/** The OP's own entry, modified. */
const changedEntry =
  (changes: object) =>
  (op: Op): { body: string } => ({
    body: JSON.stringify({ keys: op.publishedKeys().map((entry) => ({ ...(entry as object), ...changes })) }),
  });

const privateJwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
const { d: _d, ...publicJwk } = privateJwk;
const ed25519 = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "first verify",
    run: async (op, verify) => oneByOne(op, verify, [await op.token()]),
  },
  {
    name: "50 cold verifies at once",
    run: async (op, verify) => atOnce(op, verify, await times(50, op.token)),
  },
  {
    name: "token of a new key, rotated in one second after a fetch",
    async run(op, verify) {
      await warm(op, verify);
      await op.rotate();
      const token = await op.token();
      return later(1, () => oneByOne(op, verify, [token]));
    },
  },
  {
    name: "100 random kids, one after another",
    async run(op, verify) {
      await warm(op, verify);
      return oneByOne(op, verify, await randomKids(op));
    },
  },
  {
    name: "100 random kids at once",
    async run(op, verify) {
      await warm(op, verify);
      return atOnce(op, verify, await randomKids(op));
    },
  },
  {
    name: "20 cold verifies against status 500, one after another",
    async run(op, verify) {
      op.misbehave({ status: 500 });
      return oneByOne(op, verify, await times(20, op.token));
    },
  },
  {
    name: "one verify an hour and a minute after the fetch (set unchanged)",
    async run(op, verify) {
      const token = await op.token();
      await verify(token);
      op.forget();
      return later(HOUR + 60, () => oneByOne(op, verify, [token]));
    },
  },
  {
    name: "the same with the endpoint down (inside stale-while-revalidate)",
    run: afterOutage(HOUR + 60),
  },
  { name: "three hours after the fetch, endpoint down (set expired)", run: afterOutage(3 * HOUR) },
  hostile("an AKP (ML-DSA) entry first", entriesFirst({ kty: "AKP", alg: "ML-DSA-65", kid: "pq", pub: "AAAA" })),
  hostile("an oct entry first", entriesFirst({ kty: "oct", k: "AAAA", kid: "mac", alg: "HS256" })),
  hostile(
    "an entry with a private member first",
    entriesFirst({ ...privateJwk, kid: "leaked", alg: "ES256", use: "sig" }),
  ),
  hostile(
    "an entry with a malformed coordinate first",
    entriesFirst({ ...publicJwk, x: "AAAA", kid: "bad", alg: "ES256" }),
  ),
  hostile("a first entry that is not an object", entriesFirst("key")),
  hostile("null first", entriesFirst(null)),
  hostile("use null", changedEntry({ use: null })),
  hostile("alg null", changedEntry({ alg: null })),
  hostile("key_ops without an operation", changedEntry({ use: undefined, key_ops: [] })),
  hostile("the same entry twice", (op) => entriesFirst(...op.publishedKeys())(op)),
  hostile("another kind of key with the same kid first", (op) => {
    const [published] = op.publishedKeys() as { kid: string }[];
    return entriesFirst({ ...ed25519, alg: "EdDSA", use: "sig", kid: published?.kid })(op);
  }),
  hostile("another ES256 key with the same kid first", (op) => {
    const [published] = op.publishedKeys() as { kid: string }[];
    return entriesFirst({ ...publicJwk, alg: "ES256", use: "sig", kid: published?.kid })(op);
  }),
  hostile("an encryption key with the same kid first", (op) => {
    const [published] = op.publishedKeys() as { kid: string }[];
    return entriesFirst({ ...publicJwk, alg: "ECDH-ES", use: "enc", kid: published?.kid })(op);
  }),
  hostile("a byte order mark", (op) => ({ body: `\uFEFF${JSON.stringify({ keys: op.publishedKeys() })}` })),
  hostile("the set as text/html", (op) => ({
    body: JSON.stringify({ keys: op.publishedKeys() }),
    contentType: "text/html",
  })),
  hostile("an HTML page", () => ({ body: "<!doctype html><title>Login</title>", contentType: "text/html" })),
  hostile("a set of 1 MiB", (op) => ({
    body: JSON.stringify({ keys: op.publishedKeys(), padding: "x".repeat(1024 * 1024) }),
  })),
];
