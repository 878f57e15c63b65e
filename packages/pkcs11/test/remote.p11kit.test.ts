import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type P11KitRemote, startP11Kit } from "@signpost/test-backends/p11kit";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener, type GuardedOptions, outcome, until } from "./support/signing.ts";

const PIN = "73920145";
const opener = createOpener();
let hsm: SoftHsm;
let remote: P11KitRemote;
let base: GuardedOptions;

beforeAll(async () => {
  hsm = await startSoftHsm({ pin: PIN });
  await hsm.generateKey({ label: "k1", id: "01" });
  remote = await startP11Kit(hsm);
  base = { module: remote.module, token: hsm.tokenLabel, object: "k1", pin: PIN };
});
afterAll(async () => {
  await remote.stop();
  await hsm.stop();
});

describe("a signer on a token behind a socket", () => {
  test("logs in on each connection, and asks for the PIN each time", async () => {
    let asked = 0;
    const pin = (): string => {
      asked += 1;
      return PIN;
    };
    const signer = await opener.open({ ...base, pin, sessions: 3 });
    await until(() => asked === 3);
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().notes).toEqual([]);
    await opener.closeAll();
  });

  test("survives the server being killed and started again in the middle of signing", async () => {
    const signer = await opener.open(base);
    const seen = new Set<string>();
    const done = new AbortController();
    const callers = Array.from({ length: 8 }, async () => {
      while (!done.signal.aborted) seen.add(await outcome(signer));
    });
    await until(() => seen.has("signed"));
    await remote.kill();
    await until(() => seen.has("unavailable"));
    await remote.restart();
    const restarted = performance.now();
    await until(async () => (await outcome(signer)) === "signed", 40_000);
    expect(performance.now() - restarted).toBeLessThan(35_000);
    done.abort();
    await Promise.all(callers);
    expect([...seen].filter((code) => !["signed", "unavailable", "timeout"].includes(code))).toEqual([]);
    await until(() => signer.health().status === "ready");
    await opener.closeAll();
  }, 120_000);

  test("opening with no server fails with a typed error", async () => {
    await remote.kill();
    await expect(opener.open(base)).rejects.toMatchObject({ name: "SignerError", code: "unavailable" });
    await remote.restart();
    expect(await outcome(await opener.open(base))).toBe("signed");
    await opener.closeAll();
  });

  test.each(["thread", "process"] as const)(
    "opening with an address that is none says where the address is, isolation %s",
    async (isolation) => {
      const address = process.env["P11_KIT_SERVER_ADDRESS"];
      process.env["P11_KIT_SERVER_ADDRESS"] = "/run/p11-kit.socket";
      const opening = opener.open({ ...base, isolation });
      await expect(opening).rejects.toMatchObject({
        name: "ConfigurationError",
        message:
          "module: expected a module that returns its functions: C_GetFunctionList: CKR_GENERAL_ERROR (0x5). " +
          "p11-kit's client finds its server by P11_KIT_SERVER_ADDRESS",
      });
      process.env["P11_KIT_SERVER_ADDRESS"] = address;
      expect(await outcome(await opener.open({ ...base, isolation }))).toBe("signed");
      await opener.closeAll();
    },
  );
});
