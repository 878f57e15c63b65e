import { openLocalSigner } from "@signpost/local";
import { flowChecks } from "./support/flow-checks.ts";

flowChecks("this process", async () => {
  const signer = await openLocalSigner();
  return { signer, stop: () => signer.close() };
});
