import { nssToken } from "./support/backend-tokens.ts";
import { memoryTest } from "./support/memory.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

memoryTest(useShimmedBackend(nssToken), 200_000);
