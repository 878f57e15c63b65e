import { vi } from "vitest";
import { isPlainObject } from "@signpost/core/adapter";

// A setup file. With it, every test of this package runs over the HTTPS transport: each signer with a client of the adapter's
// own has this transport instead of the SDK's.

vi.mock("@signpost/aws-kms", async (original) => {
  const { openAwsKmsSigner, awsKms, ...others } = await original<typeof import("@signpost/aws-kms")>();
  return {
    ...others,
    openAwsKmsSigner: (options: unknown) => openAwsKmsSigner(overHttps(options) as never),
    awsKms: (options: unknown = {}) => awsKms(overHttps(options) as never),
  };
});

function overHttps(options: unknown): unknown {
  const others = ["client", "api", "transport"];
  return !isPlainObject(options) || others.some((name) => name in options)
    ? options
    : { ...options, transport: "https" };
}
