import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRequestSigner, type SigningCredentials } from "../../src/https/sigv4.ts";
import { expectedHeaders } from "../support/sigv4-oracle.ts";

const label = fc.stringMatching(/^[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?$/);
const host = fc.oneof(
  fc.tuple(label, label).map((labels) => labels.join(".")),
  fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([address, port]) => `${address}:${port}`),
  fc.ipV6().map((address) => `[${address}]:8443`),
);
/** As `new URL` writes a path: already encoded. */
const path = fc.webPath().map((text) => new URL(`https://kms.example${text}`).pathname);
const credentials: fc.Arbitrary<SigningCredentials> = fc.record({
  accessKeyId: fc.stringMatching(/^[A-Z0-9]{16,20}$/),
  secretAccessKey: fc.string({ minLength: 1, maxLength: 60, unit: "binary-ascii" }),
  // With white space, as a variable may have it.
  sessionToken: fc.option(fc.stringMatching(/^[\t -~]{1,900}$/), { nil: undefined }),
});
const time = fc.date({ min: new Date("2000-01-01"), max: new Date("2099-12-31"), noInvalidDate: true });
const body = fc.oneof(fc.json(), fc.string({ unit: "grapheme" }));
const region = fc.oneof(label, fc.constantFrom("eu-west-1", "us-gov-west-1", "cn-north-1"));

describe("Signature Version 4", () => {
  test("gives each request the headers that the SDK gives it", async () => {
    const anyRequest = fc.record({ region, host, path, credentials, time, body });
    await fc.assert(
      fc.asyncProperty(anyRequest, async ({ time: at, ...each }) => {
        const scope = { region: each.region, service: "kms", host: each.host, path: each.path };
        const headers = { "content-type": "application/x-amz-json-1.1", "x-amz-target": "TrentService.Sign" };
        const request = { headers, body: each.body, now: at.getTime() };
        const signed = createRequestSigner(scope)(request, each.credentials);
        expect(signed).toEqual(await expectedHeaders(scope, each.credentials, request));
      }),
    );
  });

  test("follows the day and the secret, although it keeps the signing key", async () => {
    const scope = { region: "eu-west-1", service: "kms", host: "kms.eu-west-1.amazonaws.com", path: "/" };
    const sign = createRequestSigner(scope);
    const step = fc.record({
      accessKeyId: fc.constantFrom("AKIA1", "AKIA2"),
      secretAccessKey: fc.constantFrom("one", "two"),
      now: fc.constantFrom("2026-11-28T23:59:59.999Z", "2026-11-29T00:00:00Z", "2027-11-29T00:00:00Z").map(Date.parse),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        for (const { now, ...pair } of steps) {
          const request = { headers: { "content-type": "text/plain" }, body: "{}", now };
          expect(sign(request, pair)).toEqual(await expectedHeaders(scope, pair, request));
        }
      }),
    );
  });

  test("follows the headers and the session, although it keeps what is the same", async () => {
    const scope = { region: "eu-west-1", service: "kms", host: "kms.eu-west-1.amazonaws.com", path: "/" };
    const sign = createRequestSigner(scope);
    const all = ["GetPublicKey", "Sign"].map((name) => ({ "content-type": "text/plain", "x-amz-target": name }));
    const step = fc.record({
      headers: fc.constantFrom(...all),
      sessionToken: fc.constantFrom("one", "two", undefined),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        for (const { headers, sessionToken } of steps) {
          const identity = { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken };
          const request = { headers, body: "{}", now: 1_800_000_000_000 };
          expect(sign(request, identity)).toEqual(await expectedHeaders(scope, identity, request));
        }
      }),
    );
  });
});
