import { generateKeyPairSync, randomUUID } from "node:crypto";
import { KMSClient } from "@aws-sdk/client-kms";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { flowChecks } from "./support/flow-checks.ts";

flowChecks("AWS KMS (LocalStack)", async () => {
  const key = { keyId: randomUUID(), privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey };
  const emulator = await startLocalstack({ keys: [key] });
  const { endpoint, region, credentials } = emulator;
  const client = new KMSClient({ endpoint, region, credentials });
  const signer = await openAwsKmsSigner({ key: key.keyId, client });
  return {
    signer,
    stop: async () => {
      await signer.close();
      client.destroy();
      await emulator.stop();
    },
  };
});
