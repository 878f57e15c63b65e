import { openGcpClient } from "../../backends/gcp-kms.ts";
import type { OpenRaw } from "../side.ts";
import { missingSdk } from "./missing-sdk.ts";
import { probeDigest } from "./text.ts";

/** The time limit of one call, as the adapter has it. */
const CALL = { timeout: 2000 };

/** `asymmetricSign` of Google's client, without checksums. */
export const openRawGcp: OpenRaw = async ({ keyUri, options, context }) => {
  const client = await openGcpClient(options, context);
  if (client === undefined) throw missingSdk("@google-cloud/kms");
  const name = keyUri.slice("gcpkms://".length);
  return {
    name: "bare SDK",
    sign: async () => void (await client.asymmetricSign({ name, digest: { sha256: probeDigest() } }, CALL)),
    codeOf: (error) => `grpc ${String(Reflect.get(Object(error), "code") ?? "error")}`,
    close: () => client.close(),
  };
};
