import { tpm2Token } from "./support/backend-tokens.ts";
import { failureTests } from "./support/failure-table.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureTests(useShimmedBackend(tpm2Token), ["the TPM is killed and started again", "its device is removed"]);
