import { p11KitToken } from "./support/backend-tokens.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";
import { soakTest } from "./support/soak.ts";

soakTest(useShimmedBackend(p11KitToken), {
  signatures: 20_000,
  absence: "the server is killed and started again",
  closings: 5,
  closingAfter: true,
});
