import { openGcpClient, type GcpCall } from "../../backends/gcp-kms.ts";
import type { OpenRaw } from "../side.ts";
import { missingSdk } from "./missing-sdk.ts";
import { probeDigest } from "./text.ts";

interface SigningClient {
  readonly asymmetricSign: GcpCall<object>;
}

/** The time limit of one call, as the adapter has it. */
const CALL = { timeout: 2000 };

/** `asymmetricSign` of Google's client, without checksums. */
export const openRawGcp: OpenRaw = async ({ keyUri, options, context }) => {
  const client = await openGcpClient(options, context.cwd);
  if (client === undefined) throw missingSdk("@google-cloud/kms");
  const name = keyUri.slice("gcpkms://".length);
  const signing = client as unknown as SigningClient;
  return {
    name: "bare SDK",
    sign: async () => void (await signing.asymmetricSign({ name, digest: { sha256: probeDigest() } }, CALL)),
    codeOf: (error) => `grpc ${String(Reflect.get(Object(error), "code") ?? "error")}`,
    close: () => client.close(),
  };
};
