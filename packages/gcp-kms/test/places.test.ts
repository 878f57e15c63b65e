import { createECDH } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { createKeySet, signWith } from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { signDigest } from "@signpost/test-backends/digest-signature";
import type { GcpKmsClientLike, GcpKmsSignRequest } from "../src/api.ts";
import { checksumOf } from "../src/answers.ts";
import type { Connection } from "../src/connection.ts";
import type * as connections from "../src/connection.ts";

// A client that replaces another must prove itself again, since a good signature of one says nothing about another.

const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";

/** The client that makes the next call. */
const used = vi.hoisted(() => ({ client: undefined as unknown }));
vi.mock("../src/connection.ts", async (load) => {
  const connect = async (): Promise<Connection> => ({
    call: async ({ timeoutMs }, _subject, call) =>
      call(used.client as GcpKmsClientLike, { timeout: timeoutMs, retry: null }),
    trouble: () => undefined,
    close: async () => {},
  });
  return { ...(await load<typeof connections>()), connect };
});

function newKey() {
  const key = createECDH("prime256v1");
  const point = key.generateKeys();
  const [x = "", y = ""] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
  return { secret: key.getPrivateKey(), publicKey: { kty: "EC", crv: "P-256", x, y } as const };
}

const right = newKey();
const foreign = newKey();

class Client {
  /** The key that it signs with. */
  key = right;

  async asymmetricSign({ name, digest }: GcpKmsSignRequest): Promise<[object]> {
    const signature = signDigest(digest.sha256, this.key.secret);
    return [{ name, signature, signatureCrc32c: { value: checksumOf(signature) }, verifiedDigestCrc32c: true }];
  }
}

/** Signs with clients one after the other, each by its number. Tells the code of each failure. */
async function sign(steps: readonly (readonly [client: number, key: typeof right])[]): Promise<readonly unknown[]> {
  const clients = [new Client(), new Client(), new Client()];
  const policy = { maxAttempts: 1 };
  await using signer = await openGcpKmsSigner({ keyVersion: NAME, publicKey: right.publicKey, policy });
  const { active } = createKeySet([{ signer }]);
  const outcomes: unknown[] = [];
  for (const [number, key] of steps) {
    used.client = Object.assign(clients[number] ?? new Client(), { key });
    const signing = signWith(active, Buffer.from("input"), { verify: "first" });
    outcomes.push(
      await signing.then(
        () => "signed",
        (error: unknown) => Reflect.get(Object(error), "code"),
      ),
    );
  }
  return outcomes;
}

describe("of a signature that is verified once for each client, with another key,", () => {
  test.each([
    [
      "the second client's is refused",
      [
        [0, right],
        [1, foreign],
      ],
      "bad_signature",
    ],
    [
      "the third one's is refused, although the second has proven itself",
      [
        [0, right],
        [1, right],
        [2, foreign],
      ],
      "bad_signature",
    ],
    [
      "the first one's is not looked at, once it has proven itself",
      [
        [0, right],
        [0, foreign],
      ],
      "signed",
    ],
    [
      "nor the second one's, once it has",
      [
        [0, right],
        [1, right],
        [1, foreign],
      ],
      "signed",
    ],
  ] as const)("%s", async (_what, steps, last) => {
    expect(await sign(steps)).toEqual([...steps.slice(1).map(() => "signed"), last]);
  });
});
