import { nssToken } from "./support/backend-tokens.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";
import { soakTest } from "./support/soak.ts";

soakTest(useShimmedBackend(nssToken), {
  signatures: 20_000,
  absence: "its device is removed",
  closings: 5,
  closingAfter: true,
});
