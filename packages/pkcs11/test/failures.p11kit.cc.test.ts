import { p11KitToken } from "./support/backend-tokens.ts";
import { failureTests } from "./support/failure-table.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

failureTests(useShimmedBackend(p11KitToken), [
  "the server is killed and started again",
  "the tokens' folder is moved away",
  "its device is removed",
]);
