import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { gcpKms, listGcpKmsKeyVersions, openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { LONGEST_MS, refusedAround } from "@signpost/test-backends/option-bounds";

const CRYPTO_KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const client: GcpKmsClientLike = {
  initialize: async () => ({ getChannel: () => undefined }),
  getPublicKey: async () => [{}],
  asymmetricSign: async () => [{}],
  getCryptoKeyVersion: async () => [{}],
  listCryptoKeyVersions: async () => [[]],
  close: async () => undefined,
};
const opening = { keyVersion: `${CRYPTO_KEY}/cryptoKeyVersions/3`, publicKey, client };

test.each<[what: string, option: string, use: (value: number) => unknown]>([
  [
    "openGcpKmsSigner",
    "openDeadlineMs",
    async (openDeadlineMs) => (await openGcpKmsSigner({ ...opening, openDeadlineMs })).close(),
  ],
  [
    "openGcpKmsSigner",
    "callTimeoutMs",
    async (callTimeoutMs) => (await openGcpKmsSigner({ ...opening, callTimeoutMs })).close(),
  ],
  ["gcpKms", "openDeadlineMs", (openDeadlineMs) => gcpKms({ client, openDeadlineMs })],
  ["gcpKms", "callTimeoutMs", (callTimeoutMs) => gcpKms({ client, callTimeoutMs })],
  ["listGcpKmsKeyVersions", "deadlineMs", (deadlineMs) => listGcpKmsKeyVersions(CRYPTO_KEY, { client, deadlineMs })],
])("%s takes %s as long as a timer can be", async (_what, option, use) => {
  expect(await refusedAround(option, use, { min: 1, max: LONGEST_MS })).toEqual([0, LONGEST_MS + 1]);
});
