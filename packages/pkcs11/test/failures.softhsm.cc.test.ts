import { softHsmToken } from "./support/backend-tokens.ts";
import { failureTests } from "./support/failure-table.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureTests(useShimmedBackend(softHsmToken), ["the tokens' folder is moved away", "its device is removed"]);
