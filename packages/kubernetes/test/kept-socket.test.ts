import { stat } from "node:fs/promises";
import { startKeptSocket } from "@signpost/test-backends/kept-socket";
import { expect, test } from "vitest";
import { claimsOf, ISSUER } from "./support/claims.ts";
import { connectTo } from "./support/grpc-client.ts";
import { privateFolder } from "./support/private-folder.ts";
import { BIN } from "./support/run-signer.ts";

// A socket that the service manager keeps: it outlives the signer, and clients wait for the next one.

test.each(["SIGTERM", "SIGKILL"] as const)(
  "after %s a client waits in the socket until the next signer is there",
  async (signal) => {
    await using folder = await privateFolder();
    const path = folder.at("signer.sock");
    const config = await folder.write("config.json", {
      issuer: ISSUER,
      socket: { systemd: true, name: "signer" },
      maxTokenLifetimeSeconds: 3600,
      keys: [{ uri: "local:" }],
    });
    await using kept = await startKeptSocket({
      path,
      name: "signer",
      command: [process.execPath, BIN, "--config", config],
    });
    const before = connectTo(path);
    await before.sign(claimsOf());
    await kept.goAway(signal);
    before.close();

    // The kernel takes the connection, although nothing reads it yet.
    const after = connectTo(path);
    const waiting = after.sign(claimsOf());
    kept.comeBack();
    await expect(waiting).resolves.toHaveProperty("signature");
    expect(readyPids(kept.output())).toHaveLength(2);
    expect((await stat(path)).isSocket()).toBe(true);
    after.close();
  },
);

/** The process ids in the lines of the log that say that a signer is ready. */
function readyPids(output: string): readonly number[] {
  const lines = output.split("\n").filter((line) => line.includes('"event":"ready"'));
  return [...new Set(lines.map((line) => (JSON.parse(line) as { readonly pid: number }).pid))];
}
