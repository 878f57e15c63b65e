import { createHash } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { CLIENTS } from "../bench/peers/clients.ts";
import type { Op } from "../bench/peers/op.ts";
import { startOp } from "../bench/peers/op.ts";

// Libraries that RPs use, and ours, against our real endpoint and tokens that our signer made.

async function op(): Promise<Op> {
  const started = await startOp();
  onTestFinished(() => started.stop());
  return started;
}

describe.each(CLIENTS)("$name", (client) => {
  it("verifies our token by our endpoint", async () => {
    const server = await op();
    await expect(client.open(server)(await server.token())).resolves.toBeDefined();
    expect(server.requests()).toBe(1);
  });

  it("verifies tokens of the active and of the retiring key", async () => {
    const server = await op();
    const retiring = await server.token();
    await server.rotate();
    const verify = client.open(server);
    await expect(verify(await server.token())).resolves.toBeDefined();
    await expect(verify(retiring)).resolves.toBeDefined();
  });

  // A client that never looks at the signature would prove nothing.
  it("refuses our token with one bit of its signature flipped", async () => {
    const server = await op();
    const verify = client.open(server);
    const token = await server.token();
    await expect(verify(flipped(token))).rejects.toBeInstanceOf(Error);
    await expect(verify(token)).resolves.toBeDefined();
  });

  it("refuses our token with a kid that is not published", async () => {
    const server = await op();
    await expect(client.open(server)(await server.tokenWithKid("unknown"))).rejects.toBeInstanceOf(Error);
  });
});

function flipped(token: string): string {
  const [header, payload, signature = ""] = token.split(".");
  const bytes = Buffer.from(signature, "base64url");
  // Any byte will do; which one depends on the token, so that runs differ.
  const index = (createHash("sha256").update(token).digest()[0] ?? 0) % bytes.length;
  bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index);
  return `${header}.${payload}.${bytes.toString("base64url")}`;
}
