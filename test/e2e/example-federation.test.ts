import { once } from "node:events";
import { createServer } from "node:http";
import { resolveTrustChains } from "@openid-federation/core";
import { compactVerify, importJWK } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "@signpost/test-backends/process";
import { type ExampleProgram, startExample } from "./support/example-program.ts";

async function start(port: number, env: NodeJS.ProcessEnv): Promise<ExampleProgram> {
  const program = await startExample("federation", { env: { PORT: String(port), ENTITY: "", KEY: "", ...env } });
  onTestFinished(() => program.remove());
  await program.printed("listening");
  return program;
}

test("examples/federation: the library builds a trust chain from a leaf to its anchor, and jose verifies each statement", async () => {
  const [anchorPort, leafPort] = [await freePort(), await freePort()];
  const [anchor, leaf] = [`http://localhost:${anchorPort}`, `http://localhost:${leafPort}`];
  const programs = [await start(anchorPort, { SUBORDINATES: leaf }), await start(leafPort, { SUPERIORS: anchor })];

  const seen: unknown[] = [];
  const chains = await resolveTrustChains({
    entityId: leaf,
    trustAnchorEntityIds: [anchor],
    verifyJwtCallback: async ({ jwt, jwk }) => {
      const { protectedHeader } = await compactVerify(jwt, await importJWK({ ...jwk } as never, "ES256"));
      seen.push(protectedHeader);
      return true;
    },
  });
  expect(chains).toMatchObject([{ valid: true, trustAnchorEntityConfiguration: { sub: anchor } }]);
  expect(chains[0]?.chain.map(({ iss, sub }) => [iss, sub])).toEqual([
    [anchor, leaf],
    [anchor, anchor],
  ]);
  expect(seen).toHaveLength(3);
  for (const header of seen) {
    expect(header).toEqual({ alg: "ES256", typ: "entity-statement+jwt", kid: expect.any(String) });
  }
  expect((await fetch(`${anchor}/fetch?sub=https://other.example`)).status).toBe(404);
  for (const program of programs) expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});

test("examples/federation ends while a subordinate does not answer", async () => {
  const silent = createServer(() => {});
  const [port, silentPort] = [await freePort(), await freePort()];
  await once(silent.listen(silentPort), "listening");
  onTestFinished(() => {
    silent.close();
    silent.closeAllConnections();
  });
  const subordinate = `http://localhost:${silentPort}`;
  const program = await start(port, { SUBORDINATES: subordinate });
  const answer = fetch(`http://localhost:${port}/fetch?sub=${subordinate}`);
  await once(silent, "request");
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
  expect((await answer).status).toBe(503);
});
