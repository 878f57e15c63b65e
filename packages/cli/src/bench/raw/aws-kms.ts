import { kmsPlace, openKmsSdk } from "../../backends/aws-kms.ts";
import { missingSdk } from "./missing-sdk.ts";
import type { OpenRaw } from "../side.ts";
import { probeDigest } from "./text.ts";

/** `SignCommand` of the AWS SDK, with its own attempts. */
export const openRawKms: OpenRaw = async ({ keyUri, options, context }) => {
  const place = kmsPlace(keyUri, options, context.env);
  const opened = await openKmsSdk(place, context.cwd);
  if (opened === undefined) throw missingSdk("@aws-sdk/client-kms");
  const { sdk, client } = opened;
  const request = { KeyId: place.id, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" };
  return {
    name: "bare SDK",
    sign: async () => void (await client.send(new sdk.SignCommand({ ...request, Message: probeDigest() }))),
    codeOf: (error) => (error instanceof Error ? error.name : "Error"),
    close: async () => client.destroy(),
  };
};
