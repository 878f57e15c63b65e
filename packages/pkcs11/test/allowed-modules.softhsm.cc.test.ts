import { execFileSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import { pkcs11, type Pkcs11AdapterOptions } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { useShimmedToken } from "./support/shimmed-token.ts";

const at = useShimmedToken(1);
/** A module that is not allowed. */
let other: Pkcs11Shim;
const opened: Signer[] = [];

beforeEach(async () => {
  other = await startShim(at.hsm.module);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((signer) => signer.close()));
  await other.stop();
});

const uriOf = (query: string): string => `pkcs11:token=${at.hsm.tokenLabel};object=k1${query}`;
const open = async (query: string, options: Pkcs11AdapterOptions): Promise<Signer> => {
  const signer = await openSigner(uriOf(query), [pkcs11({ pin: at.hsm.pin, sessions: 1, ...options })]);
  opened.push(signer);
  return signer;
};

describe("the module of a URI", () => {
  test("takes precedence over the option, which is for URIs that name none", async () => {
    const named = await open(`?module-path=${other.module}`, { module: at.shim.module });
    expect([at.shim.calls("C_Initialize"), other.calls("C_Initialize")]).toEqual([0, 1]);
    await named.close();
    await open("", { module: at.shim.module });
    expect([at.shim.calls("C_Initialize"), other.calls("C_Initialize")]).toEqual([1, 1]);
  });

  test("may be a path relative to the working directory", async () => {
    const signer = await open(`?module-path=${relative(process.cwd(), at.shim.module)}`, { module: other.module });
    expect(signer.uri).toContain(`?module-path=${at.shim.module}`);
  });

  test("that is a pipe is refused immediately", async () => {
    const pipe = join(at.hsm.directory, "pipe.so");
    execFileSync("mkfifo", [pipe]);
    await expect(open(`?module-path=${pipe}`, {})).rejects.toMatchObject({ argument: "module" });
  });
});

describe("allowedModules", () => {
  test("allows the modules by any path to them, and the signer's own URI opens again", async () => {
    const link = join(at.hsm.directory, "link.so");
    await symlink(at.shim.module, link);
    const allowed = [
      { allowedModules: ["/nowhere/x.so", at.shim.module] },
      { allowedModules: [link] },
      { allowedModules: [relative(process.cwd(), at.shim.module)] },
    ];
    for (const options of allowed) {
      for (const path of [at.shim.module, link, relative(process.cwd(), link)]) {
        const signer = await open(`?module-path=${path}`, options);
        await using again = await openSigner(signer.uri, [pkcs11({ pin: at.hsm.pin, ...options })]);
        expect(again.publicKey).toEqual(signer.publicKey);
      }
    }
  });

  test("says what is wrong with a module that is on the list but cannot be read", async () => {
    const missing = join(at.hsm.directory, "missing.so");
    const message = (path: string): string =>
      `expected the path of a PKCS#11 library, got "${path}", which cannot be read`;
    await expect(open("", { module: missing, allowedModules: [missing] })).rejects.toMatchObject({
      argument: "module",
      message: `module: ${message(missing)} (ENOENT)`,
    });
    await expect(open("", { module: missing, allowedModules: [at.shim.module] })).rejects.toMatchObject({
      argument: "allowedModules",
    });
  });

  test.each<[what: string, options: () => Pkcs11AdapterOptions, query: () => string]>([
    ["module-path", () => ({ module: at.shim.module }), () => `?module-path=${other.module}`],
    ["a relative module-path", () => ({}), () => `?module-path=${relative(process.cwd(), other.module)}`],
    ["the option module", () => ({ module: other.module }), () => ""],
    ["the option modules", () => ({ modules: { other: other.module } }), () => "?module-name=other"],
  ])("keeps out what %s names, and loads nothing", async (_what, options, query) => {
    const allowedModules = [at.shim.module];
    await expect(open(query(), { ...options(), allowedModules })).rejects.toMatchObject({
      name: "ConfigurationError",
      argument: "allowedModules",
    });
    expect(other.calls("C_Initialize")).toBe(0);
  });
});
