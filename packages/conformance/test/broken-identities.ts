import { guardSigner } from "@signpost/core";
import type { P256PublicJwk, Signer } from "@signpost/core";
import type { SignerHarness } from "@signpost/conformance";
import { harnessOf } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";
import { createReferenceBackend, createTestKey } from "./reference.ts";

const URI = "uri is a canonical URI: with a scheme, and equal for every signer on the key";
const PUBLIC_KEY = "publicKey is a valid P-256 key with only the members kty, crv, x and y";
const SAME = "uri and publicKey stay the same while signing and after close";
const FORM = "open returns the requested form";

const publishing = (change: (publicKey: P256PublicJwk) => object) =>
  harnessOf(({ publicKey }) => ({ publicKey: change(publicKey) as P256PublicJwk }));

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
    broken: "has a scheme that begins in upper case",
    complaint: /expected a URI/,
    harness: harnessOf(() => ({ uri: "Reference:key-1" })),
  },
  {
    check: URI,
    broken: "has nothing after its scheme",
    complaint: /expected a URI/,
    harness: harnessOf(() => ({ uri: "reference:" })),
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
    broken: "has white space around a coordinate",
    complaint: /x is not 32 bytes/,
    harness: publishing((publicKey) => ({ ...publicKey, x: ` ${publicKey.x}` })),
  },
  {
    check: PUBLIC_KEY,
    broken: "calls it another type",
    complaint: /publicKey\.kty/,
    harness: publishing((publicKey) => ({ ...publicKey, kty: "OKP" })),
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
    harness: harnessOf((_bare, backend) => {
      let key = backend.key;
      return {
        sign: async (digest) => {
          key = createTestKey();
          return key.sign(digest);
        },
        get publicKey() {
          return key.publicKey;
        },
      };
    }),
  },
  {
    check: SAME,
    broken: "has another uri once it signed",
    complaint: /uri changed while signing/,
    harness: harnessOf((bare) => {
      let uri = bare.uri;
      return {
        get uri() {
          return uri;
        },
        sign: async (...call) => {
          uri += "?used";
          return bare.sign(...call);
        },
      };
    }),
  },
  {
    check: SAME,
    broken: "forgets its key on close",
    complaint: /publicKey changed on close/,
    harness: harnessOf((bare) => {
      let { publicKey } = bare;
      return {
        get publicKey() {
          return publicKey;
        },
        close: async () => {
          ({ publicKey } = createTestKey());
        },
      };
    }),
  },
  {
    check: SAME,
    broken: "signs with zeros",
    complaint: /the signature does not verify/,
    harness: harnessOf(() => ({ sign: async () => new Uint8Array(64) })),
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
    broken: "has a home-made guard",
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
  return { ...backend.harness, open: async () => guardSigner(await backend.open(false)) };
}

/** The last of 43 characters carries four bits of the coordinate and two that decoders drop. */
function withUnusedBits(coordinate: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return coordinate.slice(0, 42) + alphabet.charAt(alphabet.indexOf(coordinate.charAt(42)) + 1);
}
