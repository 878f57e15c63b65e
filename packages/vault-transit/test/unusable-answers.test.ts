import { describe, expect, test } from "vitest";
import type { CallBounds } from "@signpost/core/adapter";
import type { ApiRequest } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";
import { getKey, sign } from "../src/open.ts";

// What is asked of the server, and which call an answer is reported for that cannot be used.

const { signal } = new AbortController();
const BOUNDS: CallBounds = { signal, timeoutMs: 1000 };
const NAME = { mount: "team/transit", key: "op" };
const DIGEST = new Uint8Array(32);

function connectionTo(data: unknown, namespace?: string) {
  const requests: ApiRequest[] = [];
  const connection = {
    address: "https://vault.example:8200",
    namespace,
    call: async (_target: object, request: ApiRequest) => {
      requests.push(request);
      return { status: 200, json: { data }, errors: [], repeatsSecrets: false };
    },
  } as unknown as Connection;
  return { connection, requests };
}

describe.each([
  ["in the namespace of the key", "org", " in the namespace org"],
  ["without a namespace", undefined, ""],
])("%s", (_what, namespace, suffix) => {
  test("a key that cannot be read is named with its server", async () => {
    const { connection, requests } = connectionTo({ type: "ecdsa-p256" }, namespace);
    await expect(getKey(connection, NAME, BOUNDS)).rejects.toMatchObject({
      code: "integrity",
      message: expect.stringContaining(`read team/transit/keys/op at https://vault.example:8200${suffix}`),
    });
    expect(requests).toEqual([{ method: "GET", path: "team/transit/keys/op" }]);
  });

  test("a signature that cannot be read is named with its version and its server", async () => {
    const { connection, requests } = connectionTo({ signature: "none" }, namespace);
    const call = "sign with version 3 of team/transit/keys/op at https://vault.example:8200";
    await expect(sign(connection, NAME, 3, DIGEST, BOUNDS)).rejects.toMatchObject({
      code: "integrity",
      message: expect.stringContaining(`${call}${suffix}`),
    });
    const input = Buffer.from(DIGEST).toString("base64");
    expect(requests).toEqual([
      {
        method: "POST",
        path: "team/transit/sign/op/sha2-256",
        body: { input, prehashed: true, marshaling_algorithm: "asn1", key_version: 3 },
        secrets: [input],
      },
    ]);
  });
});
