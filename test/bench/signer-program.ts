// A process with a signer, for what a benchmark cannot do to itself: stop, have another environment, trust a certificate.
// Argument: what it opens. Messages tell it what to sign, and it answers with the milliseconds.
import { randomBytes } from "node:crypto";
import { type AwsKmsSignerOptions, openAwsKmsSigner } from "@signpost/aws-kms";
import type { Signer } from "@signpost/core";
import { type GcpKmsSignerOptions, openGcpKmsSigner } from "@signpost/gcp-kms";

export type SignerTask =
  | { readonly cloud: "aws"; readonly options: AwsKmsSignerOptions }
  | { readonly cloud: "gcp"; readonly options: GcpKmsSignerOptions };

/** `new`: the first signature of a new signer. Otherwise so many signatures at once, of one signer. */
export type SignerOrder = "new" | number;

const task = JSON.parse(process.argv[2] ?? "") as SignerTask;
const digest = randomBytes(32);
let opened: Promise<Signer> | undefined;

function open(): Promise<Signer> {
  return task.cloud === "aws" ? openAwsKmsSigner(task.options) : openGcpKmsSigner(task.options);
}

async function carryOut(order: SignerOrder): Promise<void> {
  const signer = await (order === "new" ? open() : (opened ??= open()));
  await Promise.all(Array.from({ length: order === "new" ? 1 : order }, () => signer.sign(digest)));
  if (order === "new") await signer.close();
}

process.on("message", (order: SignerOrder) => {
  const startedAt = performance.now();
  carryOut(order).then(
    () => process.send?.({ ms: performance.now() - startedAt }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
