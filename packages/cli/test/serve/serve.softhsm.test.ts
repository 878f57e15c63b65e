import { startSoftHsm, type SoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { runCli, type CliOptions } from "../support/run-cli.ts";
import { startBefore, startServe } from "./support/serve.ts";

let hsm: SoftHsm;
let folder: KeyFolder;
const uriOf = (label: string, token = "op", pin = "pin"): string =>
  `pkcs11:token=${token};object=${label}?module-path=${hsm.module}&pin-source=file:${folder.path}/${pin}`;
const options = (): CliOptions => ({ cwd: folder.path, env: hsm.env });

beforeAll(async () => {
  [hsm, folder] = await Promise.all([startSoftHsm({ label: "op" }), createKeyFolder()]);
  await hsm.generateKey({ label: "sig-1", id: "01" });
  await hsm.generateKey({ label: "sig-2", id: "02" });
  await folder.write("pin", hsm.pin);
});
afterAll(async () => {
  await hsm.stop();
  await folder[Symbol.asyncDispose]();
});

test.concurrent("serves keys of a token through a rotation by schedule", async () => {
  const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
  const write = (changes: Date): Promise<void> =>
    folder.write("signpost.config.json", {
      issuer: "https://op.example",
      keys: {
        maxTokenLifetimeSeconds: 3600,
        announceHours: 2,
        sharedCaches: false,
        entries: [
          { keyId: "sig-1", signer: uriOf("sig-1"), announcedFrom: hours(-50), activeFrom: hours(-50) },
          { keyId: "sig-2", signer: uriOf("sig-2"), announcedFrom: hours(-3), activeFrom: changes },
        ],
      },
    });
  await using served = await startBefore(write, [], options());
  expect(served.lines.find(({ event }) => event === "keys")).toMatchObject({ active: "sig-1" });
  // No key is opened again for it.
  await folder.write("pin", "no longer needed");
  expect(await served.logged("keys")).toMatchObject({ active: "sig-2" });
  const { keys } = (await (await fetch(served.keySet)).json()) as {
    readonly keys: readonly { readonly kid: string }[];
  };
  expect(keys.map(({ kid }) => kid)).toEqual(["sig-2", "sig-1"]);
  await folder.write("pin", hsm.pin);
  // The bytes that another command reads from the token.
  const printed = await runCli(["jwks"], options());
  expect(printed.code).toBe(0);
  expect(await (await fetch(served.keySet)).text()).toBe(printed.stdout);
  expect(await served.stop()).toBe(143);
});

test.concurrent("a wrong PIN is sent once, however often the keys are read: a restart would lock the token", async () => {
  const token = await hsm.addToken({ label: "locking" });
  await token.generateKey({ label: "a", id: "0a" });
  await token.generateKey({ label: "b", id: "0b" });
  await folder.write("other-pin", "00000000");
  const keys = ["a", "b"].map((label) => ({ signer: uriOf(label, "locking", "other-pin") }));
  await folder.write("locking.json", { issuer: "https://op.example", keys });
  await using served = await startServe(["--config", "locking.json"], options());
  const failed = await served.logged("load_failed");
  expect(failed).toMatchObject({
    level: "error",
    code: "pin_incorrect",
    hint: expect.stringContaining("Check the PIN"),
  });
  expect(failed.message).toMatch(/Serves nothing yet, and tries again in 30\.0 s$/);
  expect((await served.ask("/livez")).status).toBe(200);
  expect((await served.ask("/readyz")).status).toBe(503);
  expect((await served.ask("/")).text).toContain("Check the PIN");
  served.child.kill("SIGHUP");
  expect((await served.logged("load_failed")).message).toContain("It was not sent again.");
  // The adapter reads the source of a refused PIN again after five seconds.
  await folder.write("other-pin", token.pin);
  await expect
    .poll(
      async () => {
        served.child.kill("SIGHUP");
        return (await served.ask("/readyz")).status;
      },
      { timeout: 30_000, interval: 500 },
    )
    .toBe(200);
  expect(JSON.stringify(served.lines)).not.toMatch(new RegExp(`00000000|${token.pin}`));
});
