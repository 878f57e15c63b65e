import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { awsKms, openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
import { kmsOverHttps } from "@signpost/aws-kms/https";
import { LONGEST_MS, refusedAround } from "@signpost/test-backends/option-bounds";

const key = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const api: AwsKmsApi = { getPublicKey: async () => ({}), sign: async () => ({}) };

test.each<[what: string, option: string, min: number, max: number, use: (value: number) => unknown]>([
  [
    "openAwsKmsSigner",
    "openDeadlineMs",
    1,
    LONGEST_MS,
    async (openDeadlineMs) => (await openAwsKmsSigner({ key, publicKey, api, openDeadlineMs })).close(),
  ],
  ["awsKms", "openDeadlineMs", 1, LONGEST_MS, (openDeadlineMs) => awsKms({ api, openDeadlineMs })],
  ["kmsOverHttps", "maxSockets", 1, 65_535, (maxSockets) => kmsOverHttps({ maxSockets })],
  ["kmsOverHttps", "timeoutMs", 1, LONGEST_MS, (timeoutMs) => kmsOverHttps({ timeoutMs })],
])("%s takes %s from %i to %i", async (_what, option, min, max, use) => {
  expect(await refusedAround(option, use, { min, max })).toEqual([min - 1, max + 1]);
});
