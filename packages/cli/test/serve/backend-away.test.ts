import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { startReady, startServe } from "./support/serve.ts";

const ISSUER = "https://op.example";

async function oneKey(): Promise<KeyFolder> {
  const folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: ISSUER, keys: [{ signer: "local:op.pem" }] });
  return folder;
}

test.concurrent("while a backend is away, it lives and is not ready, and when it is back, it serves", async () => {
  await using folder = await oneKey();
  await using vault = await startFakeVaultTransit();
  await vault.goAway();
  await folder.write("vault.json", {
    issuer: ISSUER,
    keys: [
      { keyId: "first", signer: "local:op.pem" },
      { keyId: "second", signer: "vault:///transit/keys/op" },
    ],
    adapters: { vault: { address: vault.address, openDeadlineMs: 300 } },
  });
  const options = { cwd: folder.path, env: { VAULT_TOKEN: vault.token } };
  await using served = await startServe(["--config", "vault.json"], options);
  const failed = await served.logged("load_failed");
  expect(failed).toMatchObject({ level: "warn", code: "unavailable", reason: "start" });
  expect(failed.message).toMatch(
    /^vault\.json: keys\[1\]\.signer: .*[.?] Serves nothing yet, and tries again in \d\.\d s$/,
  );
  expect((await served.ask("/livez")).status).toBe(200);
  expect(await served.ask("/readyz")).toEqual({ status: 503, text: "no keys yet\n" });
  expect(await served.metric("signpost_ready")).toBe(0);
  expect(await served.metric('signpost_key_failures_total{code="unavailable"}')).toBe(1);
  const page = (await served.ask("/")).text;
  expect(page).toContain("not ready");
  expect(page).toMatch(/It is tried again\./);
  for (const address of [served.keySet, served.discovery]) {
    const response = await fetch(address);
    expect([response.status, response.headers.get("retry-after"), response.headers.get("cache-control")]).toEqual([
      503,
      "5",
      "no-store",
    ]);
  }
  await vault.comeBack();
  expect(await served.logged("loaded")).toMatchObject({ reason: "retry" });
  expect((await served.ask("/readyz")).status).toBe(200);
  const body = await (await fetch(served.keySet)).text();
  expect(body).toContain('"kid":"second"');

  // Later it goes away again, which no request and no load of the file notices.
  await vault.goAway();
  const before = vault.requests.length;
  await folder.write("vault.json", `${await readFile(join(folder.path, "vault.json"), "utf8")}\n`);
  await served.logged("loaded");
  expect(await (await fetch(served.keySet)).text()).toBe(body);
  served.child.kill("SIGHUP");
  expect(await served.logged("key_kept")).toMatchObject({ code: "unavailable" });
  await served.logged("loaded");
  expect(await (await fetch(served.keySet)).text()).toBe(body);
  expect((await served.ask("/readyz")).status).toBe(200);
  expect(vault.requests.length).toBe(before);
  // It was never asked to sign.
  expect(vault.requests.map(({ path }) => path)).not.toContainEqual(expect.stringContaining("sign"));
  expect(await served.stop()).toBe(143);
});

test.concurrent("a new key whose backend is away is waited for, while what was served before stays", async () => {
  await using folder = await oneKey();
  await using vault = await startFakeVaultTransit();
  await vault.goAway();
  await using served = await startReady([], { cwd: folder.path, env: { VAULT_TOKEN: vault.token } });
  await served.logged("loaded");
  await folder.write("signpost.config.json", {
    issuer: ISSUER,
    keys: [{ signer: "local:op.pem" }, { keyId: "second", signer: "vault:///transit/keys/op" }],
    adapters: { vault: { address: vault.address, openDeadlineMs: 300 } },
  });
  expect((await served.logged("load_failed")).message).toMatch(/Serves what it had, and tries again in /);
  expect((await fetch(served.keySet)).status).toBe(200);
  await vault.comeBack();
  await served.logged("loaded");
  expect(await (await fetch(served.keySet)).text()).toContain('"kid":"second"');
});

test.concurrent("SIGTERM while it waits for a backend ends it", async () => {
  await using folder = await oneKey();
  await folder.write("away.json", {
    issuer: ISSUER,
    keys: [{ signer: "vault:///transit/keys/op" }],
    adapters: { vault: { address: "http://127.0.0.1:9", openDeadlineMs: 300 } },
  });
  await using served = await startServe(["--config", "away.json"], { cwd: folder.path, env: { VAULT_TOKEN: "t" } });
  await served.logged("load_failed");
  expect(await served.stop()).toBe(143);
});
