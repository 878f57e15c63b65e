import * as promises from "node:fs/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openSigner } from "@signpost/core";
import { openPkcs11Signer, pkcs11 } from "@signpost/pkcs11";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  return { ...real, realpath: vi.fn<typeof promises.realpath>(real.realpath) };
});

const realpath = vi.mocked(promises.realpath);
const base = { module: "/mnt/away/x.so", token: "op", object: "sig", pin: "1234" };
let comeBack = (): void => {};

beforeEach(async () => {
  const real = await vi.importActual<typeof promises>("node:fs/promises");
  const hanging = new Promise<void>((resolve) => (comeBack = resolve));
  realpath.mockImplementation(async (path) => (await hanging, real.realpath(path)));
});
afterEach(async () => {
  comeBack();
  // Paths that wait for their turn would hang in the next test, and keep its turns.
  for (let calls = -1; calls < realpath.mock.calls.length;) {
    calls = realpath.mock.calls.length;
    await Promise.allSettled(realpath.mock.results.map(({ value }) => value));
    await pause(20);
  }
  realpath.mockReset();
});

describe.each(["thread", "process"] as const)("a module on a mount that hangs, isolation %s", (isolation) => {
  test("is waited for no longer than the opening's deadline, or until the caller gives up", async () => {
    await expect(openPkcs11Signer({ ...base, isolation, openDeadlineMs: 50 })).rejects.toMatchObject({
      code: "timeout",
      uri: "pkcs11:token=op;object=sig;type=private?module-path=/mnt/away/x.so",
    });
    const signal = AbortSignal.timeout(50);
    await expect(openPkcs11Signer({ ...base, isolation, signal })).rejects.toMatchObject({ name: "SignerError" });
  });

  test("leaves the other files of the process readable: at most two paths are read at a time", async () => {
    const names = ["a", "b", "c", "d", "e"].map((name) => `/mnt/away/${name}.so`);
    const opening = names.map((module) => openPkcs11Signer({ ...base, module, isolation, openDeadlineMs: 50 }));
    const adapter = pkcs11({ isolation, pin: "1234", openDeadlineMs: 50, allowedModules: names });
    await Promise.allSettled([...opening, openSigner("pkcs11:object=sig?module-path=/mnt/away/f.so", [adapter])]);
    expect(realpath).toHaveBeenCalledTimes(2);
    comeBack();
    await vi.waitFor(() => expect(realpath.mock.calls.length).toBeGreaterThanOrEqual(6), 5_000);
  });

  test("does not stop the opening of another path on the list", async () => {
    const real = await vi.importActual<typeof promises>("node:fs/promises");
    const hang = realpath.getMockImplementation();
    realpath.mockImplementation(async (path) => (path === process.execPath ? real.realpath(path) : hang?.(path)) ?? "");
    const allowedModules = ["/mnt/away/x.so", process.execPath];
    const adapter = pkcs11({ isolation, pin: "1234", allowedModules });
    const opening = openSigner(`pkcs11:object=sig?module-path=${process.execPath}`, [adapter]);
    await expect(opening).rejects.toMatchObject({ argument: "module" });
  });

  test("costs one read, however often and in whichever way it is opened", async () => {
    const uri = "pkcs11:object=sig?module-path=/mnt/away/x.so";
    const adapter = pkcs11({ isolation, pin: "1234", openDeadlineMs: 50, allowedModules: ["/mnt/away/x.so"] });
    const opening = Array.from({ length: 5 }, () => openPkcs11Signer({ ...base, isolation, openDeadlineMs: 50 }));
    const settled = await Promise.allSettled([...opening, openSigner(uri, [adapter])]);
    expect(settled.map(({ status }) => status)).toEqual(Array(6).fill("rejected"));
    expect(realpath).toHaveBeenCalledTimes(1);
    // The next one is looked at again.
    comeBack();
    await Promise.allSettled(realpath.mock.results.map(({ value }) => value));
    await nextTurn();
    await expect(openPkcs11Signer({ ...base, isolation })).rejects.toMatchObject({ argument: "module" });
    expect(realpath).toHaveBeenCalledTimes(2);
  });
});
