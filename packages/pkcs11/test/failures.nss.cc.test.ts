import { nssToken } from "./support/backend-tokens.ts";
import { failureTests } from "./support/failure-table.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureTests(useShimmedBackend(nssToken), ["its device is removed"]);
