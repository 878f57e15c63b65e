import { DefaultAzureCredential } from "@azure/identity";
import { startOp } from "./op.ts";
import { readSettings } from "./settings.ts";

// The managed identity in Azure, and `az login` on your machine. AZURE_CLIENT_ID names a user-assigned identity.
const op = await startOp(readSettings(process.env), new DefaultAzureCredential());
console.log(`listening on ${op.port}`);

// Container Apps sends SIGTERM, and waits 30 seconds.
process.once("SIGTERM", () => {
  void op.close();
});
