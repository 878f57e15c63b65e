import { tpm2Token } from "./support/backend-tokens.ts";
import { memoryTest } from "./support/memory.ts";
import { useShimmedBackend } from "./support/shimmed-backend.ts";

// 180 signatures a second: 200,000 would take 20 minutes. Between the sixth tenth and the last, 4 KiB a signature would show.
memoryTest(useShimmedBackend(tpm2Token), 5_000);
