import { assertLoopbackOnly, cacheFolder, startProcess } from "./process.ts";
import { join } from "node:path";

/**
 * An independent implementation of Google Cloud KMS in Go, made strict by our own main: it refuses what the service's
 * documentation refuses (`go/gcp-kms-emulator/strict.go`). The remaining differences:
 *
 * - it lists versions in string order (1, 10, 2) and ignores filters;
 * - it always shows the protection level SOFTWARE, and never PENDING_GENERATION;
 * - its REST gateway answers errors in another shape than Google's: test errors over gRPC or with the fake.
 */
export interface GcpKmsEmulator extends AsyncDisposable {
  readonly host: "127.0.0.1";
  readonly grpcPort: number;
  readonly restPort: number;
  readonly pid: number;
  /** Its keys are gone then. Idempotent. */
  stop(): Promise<void>;
}

export async function startGcpKmsEmulator(): Promise<GcpKmsEmulator> {
  const child = startProcess({ command: join(cacheFolder(), "gcp-kms-emulator", "gcp-kms-emulator") });
  const stop = (): Promise<void> => child.stop();
  try {
    const { grpcPort, restPort } = JSON.parse(await child.firstLine()) as { grpcPort: number; restPort: number };
    await assertLoopbackOnly(child.pid, grpcPort);
    await assertLoopbackOnly(child.pid, restPort);
    return { host: "127.0.0.1", grpcPort, restPort, pid: child.pid, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
