import { setTimeout as pause } from "node:timers/promises";
import { guardSigner, SignerError } from "@signpost/core";
import type { P256PublicJwk, Signer } from "@signpost/core";
import type { SignerHarness } from "@signpost/conformance";
import { changed, harnessOf } from "./broken.ts";
import type { BrokenSigner, Change } from "./broken.ts";
import { createReferenceBackend, createTestKey } from "./reference.ts";

const URI = "uri is a canonical URI: with a scheme, and equal for every signer on the key";
const PUBLIC_KEY = "publicKey is a valid P-256 key with the members kty, crv, x and y alone";
const SAME = "uri and publicKey stay the same while signing and after close";
const FORM = "open hands out the form that was asked for";
const CONCURRENT = "200 concurrent calls each get the signature of their own digest";
const TWO_SIGNERS = "two signers on one key do not disturb each other, and closing one leaves the other working";
const CLOSE_AGAIN = "close can be called again, at once and later";
const AFTER_CLOSE = "a call after close rejects with closed";
const CLOSED_IN_FLIGHT = ["in the same tick as the calls", "one tick after the calls", "5 ms after the calls"].map(
  (moment) => `closed ${moment}, each call in flight ends with its signature or with closed`,
);

const publishing = (change: (publicKey: P256PublicJwk) => object) =>
  harnessOf(({ publicKey }) => ({ publicKey: change(publicKey) as P256PublicJwk }));

const never = (): Promise<never> => new Promise(() => undefined);

/** Signers that say wrong things of themselves. */
export const BROKEN_IDENTITIES: readonly BrokenSigner[] = [
  {
    check: URI,
    broken: "has a name for a URI",
    complaint: /expected a URI/,
    harness: harnessOf(() => ({ uri: "key-1" })),
  },
  {
    check: URI,
    broken: "numbers its URIs",
    complaint: /another uri/,
    harness: () => {
      let count = 0;
      return harnessOf(() => ({ uri: `reference:key-1;handle=${count++}` }))();
    },
  },
  {
    check: PUBLIC_KEY,
    broken: "publishes the private key",
    complaint: /other members/,
    harness: publishing((publicKey) => ({ ...publicKey, d: publicKey.x })),
  },
  {
    check: PUBLIC_KEY,
    broken: "names another curve",
    complaint: /publicKey\.crv/,
    harness: publishing((publicKey) => ({ ...publicKey, crv: "P-384" })),
  },
  {
    check: PUBLIC_KEY,
    broken: "drops the leading byte of a coordinate",
    complaint: /x is not 32 bytes/,
    harness: publishing(({ x, ...rest }) => ({
      ...rest,
      x: Buffer.from(x, "base64url").subarray(1).toString("base64url"),
    })),
  },
  {
    check: PUBLIC_KEY,
    broken: "pads its base64url",
    complaint: /y is not 32 bytes/,
    harness: publishing((publicKey) => ({ ...publicKey, y: `${publicKey.y}=` })),
  },
  {
    check: PUBLIC_KEY,
    broken: "publishes a point off the curve",
    complaint: /JWK/,
    harness: publishing((publicKey) => ({ ...publicKey, y: createTestKey().publicKey.y })),
  },
  {
    check: PUBLIC_KEY,
    broken: "sets the two unused bits at the end of a coordinate",
    complaint: /not the canonical form/,
    harness: publishing((publicKey) => ({ ...publicKey, x: withUnusedBits(publicKey.x) })),
  },
  {
    check: SAME,
    broken: "follows an alias to another key",
    complaint: /publicKey changed while signing/,
    harness: harnessOf((bare, { key }) => {
      let publicKey = bare.publicKey;
      const sign = async (digest: Uint8Array): Promise<Uint8Array> => {
        setImmediate(() => (publicKey = createTestKey().publicKey));
        await pause(5);
        publicKey = { ...publicKey };
        return key.sign(digest);
      };
      const reading = { reads: 0 };
      return {
        sign,
        get publicKey() {
          // Read once to verify the signature, which still fits; then the new key shows.
          reading.reads += 1;
          return reading.reads === 2 ? bare.publicKey : publicKey;
        },
      };
    }),
  },
  {
    check: SAME,
    broken: "forgets its uri on close",
    complaint: /uri changed on close/,
    harness: harnessOf((bare) => {
      let uri = bare.uri;
      return {
        get uri() {
          return uri;
        },
        close: async () => {
          uri = "";
        },
      };
    }),
  },
  {
    check: FORM,
    broken: "is bare where a policy was given",
    complaint: /expected a GuardedSigner/,
    forms: ["guarded"],
    harness: harnessOf(() => ({})),
  },
  {
    check: FORM,
    broken: "has a guard of its own making",
    complaint: /can be guarded again/,
    forms: ["guarded"],
    harness: harnessOf((bare) => {
      const health = { status: "ready", since: new Date(0), notes: [] };
      return { health: () => health, [Symbol.asyncDispose]: () => bare.close() } as Partial<Signer>;
    }),
  },
  {
    check: FORM,
    broken: "is guarded where false was given",
    complaint: /expected a bare one/,
    forms: ["bare"],
    harness: guardingAlways,
  },
];

function guardingAlways(): SignerHarness {
  const backend = createReferenceBackend();
  return { ...backend, open: async () => guardSigner(await backend.open(false)) };
}

/** The last of 43 characters carries four bits of the coordinate and two that decoders drop. */
function withUnusedBits(coordinate: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return coordinate.slice(0, 42) + alphabet.charAt(alphabet.indexOf(coordinate.charAt(42)) + 1);
}

/** Signers that mix up their callers. */
export const BROKEN_CONCURRENCY: readonly BrokenSigner[] = [
  {
    check: CONCURRENT,
    broken: "keeps the digest in one place",
    complaint: /does not verify/,
    harness: harnessOf((bare) => {
      let current: Uint8Array;
      return {
        sign: async (digest) => {
          current = digest;
          await pause(1);
          return bare.sign(current);
        },
      };
    }),
  },
  {
    check: CONCURRENT,
    broken: "hands out results in the order of answers",
    complaint: /does not verify/,
    harness: harnessOf((_bare, { key }) => {
      const waiting: ((signature: Uint8Array) => void)[] = [];
      return {
        sign: (digest) =>
          new Promise((resolve) => {
            waiting.push(resolve);
            setTimeout(() => waiting.shift()?.(key.sign(digest)), Math.random() * 10);
          }),
      };
    }),
  },
  {
    check: CONCURRENT,
    broken: "cannot do many at once",
    complaint: /too many/,
    harness: harnessOf((bare) => {
      let active = 0;
      return {
        sign: async (digest) => {
          if (active >= 64) throw new SignerError("unavailable", "too many at once");
          active += 1;
          return bare.sign(digest).finally(() => (active -= 1));
        },
      };
    }),
  },
  {
    check: TWO_SIGNERS,
    broken: "closes the session that all signers share",
    complaint: /is closed/,
    harness: () => {
      const backend = createReferenceBackend();
      const shared = backend.open(false);
      return { ...backend, open: async () => shared };
    },
  },
  {
    check: TWO_SIGNERS,
    broken: "shares a slot for the digest between signers",
    complaint: /beside another signer's does not verify/,
    harness: () => {
      let current: Uint8Array;
      const change: Change = (bare) => ({
        sign: async (digest) => {
          current = digest;
          await pause(1);
          return bare.sign(current);
        },
      });
      const backend = createReferenceBackend();
      return { ...backend, open: async () => changed(await backend.open(false), backend, change) };
    },
  },
];

/** Signers that do not end well. */
export const BROKEN_ENDINGS: readonly BrokenSigner[] = [
  {
    check: CLOSE_AGAIN,
    broken: "rejects the second close",
    complaint: /already closed/,
    harness: harnessOf((bare) => {
      let closed = false;
      return {
        close: async () => {
          if (closed) throw new SignerError("closed", "already closed");
          closed = true;
          await bare.close();
        },
      };
    }),
  },
  {
    check: CLOSE_AGAIN,
    broken: "never resolves a later close",
    complaint: /close\(\) of a closed signer has not settled/,
    forms: ["bare"],
    harness: harnessOf((bare) => {
      let closing: Promise<void> | undefined;
      let closed = false;
      const close = (): Promise<void> => (closing ??= bare.close().then(() => void (closed = true)));
      return { close: () => (closed ? never() : close()) };
    }),
  },
  ...CLOSED_IN_FLIGHT.flatMap((check): BrokenSigner[] => [
    {
      check,
      broken: "forgets its callers",
      complaint: /a call in flight at close\(\) has not settled/,
      harness: endingCallsBy(never),
    },
    {
      check,
      broken: "fails its callers with what the backend says",
      complaint: /rejected with TypeError/,
      harness: endingCallsBy(() => Promise.reject(new TypeError("undefined is not a session"))),
    },
    {
      check,
      broken: "calls it unavailable",
      complaint: /rejected with code unavailable, expected closed/,
      harness: endingCallsBy(() => Promise.reject(new SignerError("unavailable", "no session"))),
    },
    {
      check,
      broken: "answers with zeros",
      complaint: /at close\(\) does not verify/,
      harness: endingCallsBy(async () => new Uint8Array(64)),
    },
    {
      check,
      broken: "never resolves close",
      complaint: /close\(\) with calls in flight has not settled/,
      forms: ["bare"],
      harness: harnessOf(() => ({ close: never })),
    },
  ]),
  {
    check: AFTER_CLOSE,
    broken: "goes on signing",
    complaint: /after close\(\) was called gave a signature/,
    harness: harnessOf(() => ({ close: async () => undefined })),
  },
  {
    check: AFTER_CLOSE,
    broken: "goes on signing while it closes",
    complaint: /after close\(\) was called gave a signature/,
    harness: harnessOf((bare) => ({
      close: async () => {
        await pause(20);
        await bare.close();
      },
    })),
  },
  {
    check: AFTER_CLOSE,
    broken: "calls it unavailable",
    complaint: /rejected with code unavailable, expected closed/,
    harness: afterClose(() => Promise.reject(new SignerError("unavailable", "no session"))),
  },
  {
    check: AFTER_CLOSE,
    broken: "throws",
    complaint: /threw SignerError/,
    harness: afterClose(() => {
      throw new SignerError("closed", "the signer is closed");
    }),
  },
  {
    check: AFTER_CLOSE,
    broken: "hangs",
    complaint: /has not settled/,
    forms: ["bare"],
    harness: afterClose(never),
  },
];

/** Calls take as long as the signer is open, and end in `end`. */
function endingCallsBy(end: () => Promise<Uint8Array>): () => SignerHarness {
  return harnessOf(() => {
    const closing = new AbortController();
    const closed = new Promise<void>((resolve) => {
      closing.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    return {
      sign: () => closed.then(end),
      close: async () => closing.abort(),
    };
  });
}

function afterClose(end: () => Promise<Uint8Array>): () => SignerHarness {
  return harnessOf((bare) => {
    let closed = false;
    return {
      sign: (digest) => (closed ? end() : bare.sign(digest)),
      close: async () => {
        closed = true;
        await bare.close();
      },
    };
  });
}
