import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { guardSigner, spkiToJwk } from "@signpost/core";
import { isGuardedSigner } from "../forms.ts";
import type { CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { CALL_BOUND_MS, within, withSigner } from "../settle.ts";

const COORDINATE = /^[A-Za-z0-9_-]{43}$/;
const URI = /^[a-z][a-z0-9+.-]*:./;

/** Checks of a signer's uri, its public key and its form. */
export const identityChecks: readonly CheckDefinition[] = [
  {
    name: "uri is a canonical URI: with a scheme, and equal for every signer on the key",
    run: (context) =>
      withSigner(context, (signer) =>
        withSigner(context, async (other) => {
          match(signer.uri, URI, `uri is ${JSON.stringify(signer.uri)}, expected a URI with a lower-case scheme`);
          equal(other.uri, signer.uri, "a second signer on the same key has another uri");
        }),
      ),
  },
  {
    name: "publicKey is a valid P-256 key with only the members kty, crv, x and y",
    run: (context) =>
      withSigner(context, async ({ publicKey }) => {
        deepEqual(Object.keys(publicKey).toSorted(), ["crv", "kty", "x", "y"], "publicKey has other members");
        equal(publicKey.kty, "EC", "publicKey.kty");
        equal(publicKey.crv, "P-256", "publicKey.crv");
        match(publicKey.x, COORDINATE, "publicKey.x is not 32 bytes of unpadded base64url");
        match(publicKey.y, COORDINATE, "publicKey.y is not 32 bytes of unpadded base64url");
        // Node refuses a point off the curve. Converting it back shows that Node read the same coordinates.
        const spki = nodeKeyOf(publicKey).export({ type: "spki", format: "der" });
        deepEqual({ ...spkiToJwk(spki) }, { ...publicKey }, "publicKey is not the canonical form of its key");
      }),
  },
  {
    name: "uri and publicKey stay the same while signing and after close",
    run: (context) =>
      withSigner(context, async (signer) => {
        const uri = signer.uri;
        const publicKey = { ...signer.publicKey };
        const message = newMessage();
        const signature = await within(signer.sign(message.digest()), CALL_BOUND_MS, "sign()");
        assertSignature(nodeKeyOf(signer.publicKey), message, signature, "the signature");
        equal(signer.uri, uri, "uri changed while signing");
        deepEqual({ ...signer.publicKey }, publicKey, "publicKey changed while signing");
        await within(signer.close(), CALL_BOUND_MS, "close()");
        equal(signer.uri, uri, "uri changed on close");
        deepEqual({ ...signer.publicKey }, publicKey, "publicKey changed on close");
      }),
  },
  {
    name: "open returns the requested form",
    run: (context) =>
      withSigner(context, async (signer) => {
        const guarded = isGuardedSigner(signer);
        if (context.form === "guarded") {
          ok(guarded, "open(policy) gave a signer without health() and Symbol.asyncDispose, expected a GuardedSigner");
          throws(
            () => guardSigner(signer),
            { name: "ConfigurationError" },
            "open(policy) gave a signer that can be guarded again",
          );
        } else {
          ok(!guarded, "open(false) gave a guarded signer, expected a bare one");
          guardSigner(signer);
        }
      }),
  },
];
