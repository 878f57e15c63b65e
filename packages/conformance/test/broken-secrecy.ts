import { SignerError } from "@signpost/core";
import type { SignerErrorCode, SignOptions } from "@signpost/core";
import type { SignerHarness } from "@signpost/conformance";
import { harnessOf } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";

const ERRORS = "errors show no secret and no digest: message, stack, causes, JSON and util.inspect";
const PRINTED = "the signer, its uri and its health show no secret when they are printed";

/** Signers that tell what they should not. */
export const BROKEN_SECRECY: readonly BrokenSigner[] = [
  {
    check: ERRORS,
    broken: "puts a secret into the message",
    complaint: /an aborted call shows secrets\[0\]/,
    harness: failingWith("aborted", ({ secret }) => new SignerError("aborted", `no session with ${secret}`)),
  },
  {
    check: ERRORS,
    broken: "keeps a secret in the cause of the cause",
    complaint: /shows secrets\[0\]/,
    harness: failingWith("closed", ({ secret }) => {
      const cause = new Error("login failed", { cause: new Error(`pin-value=${secret}`) });
      return new SignerError("closed", "closed", { cause });
    }),
  },
  {
    check: ERRORS,
    broken: "hides a cause with a secret from util.inspect",
    complaint: /message of cause 1 .* shows secrets\[0\]/,
    harness: failingWith("closed", ({ secret }) => {
      const cause = Object.assign(new Error(secret), {
        [Symbol.for("nodejs.util.inspect.custom")]: () => "login failed",
      });
      return new SignerError("closed", "closed", { cause });
    }),
  },
  {
    check: ERRORS,
    broken: "keeps a secret for JSON alone",
    complaint: /JSON of .* shows secrets\[0\]/,
    harness: failingWith("closed", ({ secret }) => {
      const error = new SignerError("closed", "closed");
      return Object.defineProperty(error, "toJSON", { value: () => ({ pin: secret }), enumerable: false });
    }),
  },
  {
    check: ERRORS,
    broken: "shows a secret in base64",
    complaint: /shows secrets\[0\]/,
    harness: failingWith("aborted", ({ secret }) => {
      return Object.assign(new SignerError("aborted", "aborted"), {
        authorization: `Basic ${Buffer.from(secret).toString("base64")}`,
      });
    }),
  },
  {
    check: ERRORS,
    broken: "shows a secret in the bytes of a request",
    complaint: /shows secrets\[0\]/,
    harness: failingWith("aborted", ({ secret }) => {
      return Object.assign(new SignerError("aborted", "aborted"), { request: new Uint8Array(Buffer.from(secret)) });
    }),
  },
  {
    check: ERRORS,
    broken: "puts the digest into the message",
    complaint: /an aborted call shows the digest/,
    harness: failingWith("aborted", ({ digest }) => {
      return new SignerError("aborted", `not signed: ${Buffer.from(digest).toString("hex")}`);
    }),
  },
  {
    check: ERRORS,
    broken: "keeps the digest of the request",
    complaint: /a short digest shows the digest/,
    harness: failingWith("invalid_argument", ({ digest }) => {
      return Object.assign(new SignerError("invalid_argument", "expected 32 bytes"), { input: { digest } });
    }),
  },
  {
    check: PRINTED,
    broken: "keeps the private key as a member",
    complaint: /the signer shows secrets\[0\]/,
    harness: harnessOf((_bare, { key }) => ({ privateKey: { secret: key.secret } }) as object),
  },
  {
    check: PRINTED,
    broken: "has the PIN in its URI",
    complaint: /uri shows secrets\[0\]/,
    harness: harnessOf((bare, { key }) => ({ uri: `${bare.uri}?pin-value=${key.secret}` })),
  },
  {
    check: PRINTED,
    broken: "has the PIN in the notes of its health",
    complaint: /health\(\) shows secrets\[0\]/,
    forms: ["guarded"],
    harness: harnessOf((_bare, { key }) => {
      const health = { status: "ready", since: new Date(0), notes: [`logged in with ${key.secret}`] };
      return { health: () => health, [Symbol.asyncDispose]: async () => undefined } as object;
    }),
  },
];

interface Told {
  readonly secret: string;
  readonly digest: Uint8Array;
}

/** Replaces the errors of one code. */
function failingWith(code: SignerErrorCode, makeError: (told: Told) => Error): () => SignerHarness {
  return harnessOf((bare, { key }) => ({
    sign: (digest: Uint8Array, options?: SignOptions) =>
      bare.sign(digest, options).catch((error: unknown) => {
        throw error instanceof SignerError && error.code === code ? makeError({ secret: key.secret, digest }) : error;
      }),
  }));
}
