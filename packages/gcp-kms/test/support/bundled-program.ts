import { openGcpKmsSigner } from "@signpost/gcp-kms";

// Bundled by a test, and run: prints a signature, or the errors of two tries, as JSON.
const [keyVersion = "", endpoint = "", transport, digest = ""] = process.argv.slice(2);

async function main(): Promise<object> {
  const signer = await openGcpKmsSigner({ keyVersion, endpoint, transport: transport === "rest" ? "rest" : "grpc" });
  const signature = Buffer.from(await signer.sign(Buffer.from(digest, "hex"))).toString("hex");
  const { publicKey } = signer;
  await signer.close();
  return { signature, publicKey };
}

main().then(
  (result) => process.stdout.write(JSON.stringify(result)),
  async (error: unknown) => {
    const again: unknown = await main().catch(String);
    process.stdout.write(JSON.stringify({ error: String(error), again }));
  },
);
