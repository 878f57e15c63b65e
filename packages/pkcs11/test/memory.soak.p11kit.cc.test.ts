import { p11KitToken } from "./support/backend-tokens.ts";
import { memoryTest } from "./support/memory.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

memoryTest(useShimmedBackend(p11KitToken), 200_000);
