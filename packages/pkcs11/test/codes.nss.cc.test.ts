import { nssToken } from "./support/backend-tokens.ts";
import { failureCodeTests } from "./support/failure-codes.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureCodeTests(useShimmedBackend(nssToken));
