import { softHsmToken } from "./support/backend-tokens.ts";
import { handlesTest } from "./support/memory.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

handlesTest(useShimmedBackend(softHsmToken), 1_200);
