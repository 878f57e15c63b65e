import { openAwsKmsSigner } from "@signpost/aws-kms";

// Bundled by a test, and run where nothing is installed. It signs one digest and writes the result as JSON.
const [, , key = "", endpoint = "", digest = "", transport = ""] = process.argv;

async function main(): Promise<object> {
  const signer = await openAwsKmsSigner({
    key,
    ...(endpoint !== "" && { endpoint }),
    ...(transport === "https" && { transport }),
  });
  const signature = await signer.sign(Buffer.from(digest, "hex"));
  await signer.close();
  return { signature: Buffer.from(signature).toString("hex"), uri: signer.uri };
}

main().then(
  (result) => process.stdout.write(JSON.stringify(result)),
  (error: unknown) => process.stdout.write(JSON.stringify({ error: String(error) })),
);
