import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { freePort } from "@signpost/test-backends/process";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { startExample } from "./support/example-program.ts";
import { browse, startOpFor } from "./support/oauth-server.ts";

test("examples/client-keys logs in at a real OP, with keys in SoftHSM on both sides", async () => {
  const hsm = await startSoftHsm();
  onTestFinished(() => hsm.stop());
  await hsm.generateKey({ label: "op", id: "01" });
  await hsm.generateKey({ label: "rp", id: "02" });
  const opened = { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin };
  const opKey = await openPkcs11Signer({ ...opened, object: "op" });
  onTestFinished(() => opKey.close());

  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const op = await startOpFor(url, opKey, { redirectUri: `${url}/callback` });
  onTestFinished(() => op.close());
  const pinFile = join(hsm.directory, "pin");
  await writeFile(pinFile, hsm.pin, { mode: 0o600 });
  const program = await startExample("client-keys", {
    env: {
      ...hsm.env,
      OP: op.url,
      URL: url,
      PORT: String(port),
      KEY: `pkcs11:token=${hsm.tokenLabel};object=rp?module-path=${hsm.module}&pin-source=file:${pinFile}`,
    },
  });
  onTestFinished(() => program.remove());
  await program.printed("listening");

  const answer = await browse(new URL(`${url}/login`));
  expect([answer.status, await answer.json()]).toEqual([200, { sub: "jane" }]);
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
