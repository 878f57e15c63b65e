/** Next.js calls this once in each server process, before it serves the first request. */
export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { openOpKeys } = await import("./op-keys.ts");
  await openOpKeys();
}
