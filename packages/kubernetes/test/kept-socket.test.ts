import { stat } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { claimsOf, ISSUER } from "./support/claims.ts";
import { connectTo } from "./support/grpc-client.ts";
import { keepSocket } from "./support/kept-socket.ts";
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
    await using kept = keepSocket(path, [process.execPath, BIN, "--config", config]);
    const first = await kept.start();
    expect(await kept.log.next("ready")).toMatchObject({ pid: first });
    const before = connectTo(path);
    await before.sign(claimsOf());
    process.kill(first, signal);
    await vi.waitFor(() => expect(isRunning(first)).toBe(false), 10_000);
    before.close();

    // The kernel takes the connection, although nothing reads it yet.
    const after = connectTo(path);
    const waiting = after.sign(claimsOf());
    const second = await kept.start();
    await expect(waiting).resolves.toHaveProperty("signature");
    expect(second).not.toBe(first);
    expect((await stat(path)).isSocket()).toBe(true);
    after.close();
  },
);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
