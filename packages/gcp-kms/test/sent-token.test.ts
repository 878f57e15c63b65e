import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { rejection } from "./support/signatures.ts";

const TOKEN = "opaque-token-0123456789abcdef";
const keyVersion = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";

/** A client of the caller, whose service repeats the headers of a call. A stub of gRPC has a channel. */
function repeatingClient(stub: object, auth: object): GcpKmsClientLike {
  const initialized = Promise.resolve(stub);
  const refuse = (): Promise<never> => {
    const details = `no access for ${TOKEN}`;
    return Promise.reject(Object.assign(new Error(`7 PERMISSION_DENIED: ${details}`), { code: 7, details }));
  };
  return {
    auth: auth as NonNullable<GcpKmsClientLike["auth"]>,
    initialize: () => initialized,
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close: async () => undefined,
  };
}

const refusalBy = async (client: GcpKmsClientLike): Promise<unknown> =>
  rejection(openGcpKmsSigner({ keyVersion, client }));
const getRequestHeaders = async (): Promise<Headers> => new Headers({ authorization: `Bearer ${TOKEN}` });

describe("the access token of the caller's client is not shown, if the service repeats it,", () => {
  test.each([
    ["gRPC", { getChannel: () => undefined }],
    ["REST", {}],
  ])("over %s", async (_transport, stub) => {
    const refusal = await refusalBy(repeatingClient(stub, { cachedCredential: {}, getRequestHeaders }));
    expect(refusal).toMatchObject({ code: "access_denied" });
    expect(inspect(refusal, { depth: Infinity, showHidden: true })).not.toContain(TOKEN);
  });
});

test("a client over gRPC without credentials of the SDK is not made to search for them", async () => {
  let asked = 0;
  const auth = { cachedCredential: null, getRequestHeaders: () => Promise.reject(new Error(String((asked += 1)))) };
  await refusalBy(repeatingClient({ getChannel: () => undefined }, auth));
  expect(asked).toBe(0);
});

test("a token that does not come is not waited for", async () => {
  const auth = { cachedCredential: {}, getRequestHeaders: () => new Promise(() => undefined) };
  const refusal = await refusalBy(repeatingClient({ getChannel: () => undefined }, auth));
  expect(refusal).toMatchObject({ code: "access_denied" });
});
