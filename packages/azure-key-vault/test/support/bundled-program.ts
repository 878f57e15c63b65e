import { openAzureKeyVaultSigner } from "@signpost/azure-key-vault";

// Bundled by a test, and run where nothing is installed. It signs one digest and prints what came out.
async function main(): Promise<string> {
  const { KEY: key = "", TOKEN: token } = process.env;
  const credential = token === undefined ? undefined : () => token;
  const signer = await openAzureKeyVaultSigner({ key, credential });
  const signature = await signer.sign(new Uint8Array(32));
  await signer.close();
  return `signed ${signature.length} bytes`;
}

main().then(
  (result) => process.stdout.write(result),
  (error: unknown) => process.stdout.write(String(error)),
);
