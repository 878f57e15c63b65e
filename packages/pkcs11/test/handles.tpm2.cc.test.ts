import { tpm2Token } from "./support/backend-tokens.ts";
import { handlesTest } from "./support/memory.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

// A TPM makes 180 signatures a second.
handlesTest(useShimmedBackend(tpm2Token), 300);
