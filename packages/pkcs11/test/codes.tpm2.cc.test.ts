import { tpm2Token } from "./support/backend-tokens.ts";
import { failureCodeTests } from "./support/failure-codes.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureCodeTests(useShimmedBackend(tpm2Token));
