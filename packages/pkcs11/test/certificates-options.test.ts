import { expect, test } from "vitest";
import { pkcs11Certificates } from "@signpost/pkcs11";

const MODULE = "/nowhere/module.so";

test.each([
  [{}, "module", "got undefined"],
  [{ module: "" }, "module", "path"],
  [{ module: MODULE, pin: "1234" }, "pin", "unknown option"],
  [{ module: MODULE, token: "" }, "token", "non-empty"],
  [{ module: MODULE, slotId: -1 }, "slotId", "slot"],
  [{ module: MODULE, id: "0a" }, "id", "got a string"],
  [{ module: MODULE, publicKey: { kty: "RSA" } }, "publicKey", "P-256"],
  [{ module: MODULE, isolation: "none" }, "isolation", "thread"],
  [{ module: MODULE, openDeadlineMs: 0 }, "openDeadlineMs", "from 1"],
  [{ module: MODULE, signal: {} }, "signal", "AbortSignal"],
  [{ module: MODULE, allowedModules: [] }, "allowedModules", "non-empty"],
  [{ module: MODULE, allowedModules: ["/other.so"] }, "allowedModules", "on the list"],
  [{ module: MODULE }, "module", "ENOENT"],
  [{ uri: "pkcs11:token=op" }, "module", "missing"],
  [{ uri: "pkcs11:token=op?module-name=x" }, "modules", "module-name"],
  [{ uri: "pkcs11:token=op?module-name=x", modules: { x: MODULE } }, "module", "ENOENT"],
  [{ uri: `pkcs11:token=op;type=cert?module-path=${MODULE}` }, "module", "ENOENT"],
  [{ uri: `pkcs11:token=op;type=public?module-path=${MODULE}` }, "uri", "cert, private or no type"],
  [{ uri: "pkcs11:token=op", module: MODULE, token: "op" }, "token", "together with uri"],
  [{ uri: "awskms:///x", module: MODULE }, "uri", "pkcs11:"],
])("%j is refused, and the error names it", async (options, argument, words) => {
  const error: unknown = await pkcs11Certificates(options as never).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    name: "ConfigurationError",
    argument,
    message: expect.stringContaining(words) as string,
  });
});

test("the caller's signal ends it", async () => {
  const reason = new Error("the caller left");
  const reading = pkcs11Certificates({ module: process.execPath, signal: AbortSignal.abort(reason) });
  await expect(reading).rejects.toMatchObject({ code: "aborted" });
});
