import { generateKeyPairSync, randomUUID } from "node:crypto";
import {
  CancelKeyDeletionCommand,
  DisableKeyCommand,
  EnableKeyCommand,
  ScheduleKeyDeletionCommand,
} from "@aws-sdk/client-kms";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { SignerHarness } from "@signpost/conformance";
import type { KmsEmulator, KmsEmulatorOptions } from "@signpost/test-backends/aws-kms-emulator";
import { clientOf, provideCredentials } from "./environment.ts";

/**
 * What the conformance suite needs of an emulator, and its end. `restarts` adds the fault `unreachable`, for one that
 * starts at once.
 */
export async function startEmulatorHarness(
  start: (options: KmsEmulatorOptions) => Promise<KmsEmulator>,
  { restarts }: { readonly restarts: boolean },
): Promise<{ readonly harness: SignerHarness; stop(): Promise<void> }> {
  const key = { keyId: randomUUID(), privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey };
  const input = { KeyId: key.keyId };
  let emulator = await start({ keys: [key] });
  const client = clientOf(emulator);
  provideCredentials(emulator.credentials);

  const harness: SignerHarness = {
    open: (policy) =>
      openAwsKmsSigner({ key: key.keyId, endpoint: emulator.endpoint, region: emulator.region, policy }),
    openWith: (limits) =>
      openAwsKmsSigner({ key: key.keyId, endpoint: emulator.endpoint, region: emulator.region, ...limits }),
    secrets: [emulator.credentials.secretAccessKey, key.privateKey.export({ format: "jwk" }).d ?? ""],
    faults: {
      // The same key at the same place afterwards: what a restart of the service looks like to its clients.
      ...(restarts && {
        unreachable: async (on: boolean) => {
          if (on) await emulator.stop();
          else emulator = await start({ keys: [key], port: emulator.port });
        },
      }),
      hang: async (on) => (on ? emulator.freeze() : emulator.thaw()),
      "key-disabled": async (on) => {
        await client.send(on ? new DisableKeyCommand(input) : new EnableKeyCommand(input));
      },
      "key-destroyed": async (on) => {
        await client.send(on ? new ScheduleKeyDeletionCommand(input) : new CancelKeyDeletionCommand(input));
        if (!on) await client.send(new EnableKeyCommand(input));
      },
    },
  };
  const stop = async (): Promise<void> => {
    client.destroy();
    await emulator.stop();
  };
  return { harness, stop };
}
