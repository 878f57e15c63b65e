import { softHsmToken } from "./support/backend-tokens.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";
import { soakTest } from "./support/soak.ts";

soakTest(useShimmedBackend(softHsmToken), {
  signatures: 2_000,
  absence: "the tokens' folder is moved away",
  closings: 1,
  closingAfter: true,
});
