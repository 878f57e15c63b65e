import { tpm2Token } from "./support/backend-tokens.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";
import { soakTest } from "./support/soak.ts";

// A TPM makes 180 signatures a second. No code closes other sessions here: keys of running signatures would stay in the TPM
// until the next fresh start, up to 30 seconds each time, and the module has crashed after it.
soakTest(useShimmedBackend(tpm2Token), {
  signatures: 3_000,
  absence: "the TPM is killed and started again",
  closings: 0,
  closingAfter: false,
});
