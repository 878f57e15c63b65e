import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openGcpClient } from "../src/backends/gcp-kms.ts";
import { findModule, placeOfOpened } from "../src/backends/pkcs11/module.ts";
import { readTokenUri } from "../src/backends/pkcs11/uri.ts";
import { recordingContext } from "./support/recording-context.ts";

// With which options Google's client is made, and where a PKCS#11 module and its binding are found.

const packages = vi.hoisted(() => ({
  sdk: undefined as object | undefined,
  imported: [] as unknown[],
  /** By name, in place of what is installed. */
  paths: new Map<string, string | undefined>(),
  resolved: [] as unknown[],
}));
vi.mock("../src/keys/import-package.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../src/keys/import-package.ts")>();
  return {
    ...original,
    importPackage: async (name: string, cwd: string) => {
      packages.imported.push([name, cwd]);
      return packages.sdk;
    },
    resolvePackage: (name: string, folders: readonly string[]) => {
      packages.resolved.push([name, folders]);
      return packages.paths.has(name) ? packages.paths.get(name) : original.resolvePackage(name, folders);
    },
  };
});
beforeEach(() => {
  packages.paths.clear();
  packages.imported.length = 0;
  packages.resolved.length = 0;
});

describe("Google's client", () => {
  interface Made {
    readonly options: Record<string, unknown>;
    initialized: number;
  }
  let made: Made[];
  let initialize: () => Promise<unknown>;
  beforeEach(() => {
    made = [];
    initialize = async () => undefined;
    packages.sdk = {
      KeyManagementServiceClient: class {
        readonly made: Made;
        constructor(options: Record<string, unknown>) {
          this.made = { options, initialized: 0 };
          made.push(this.made);
        }
        async initialize(): Promise<unknown> {
          this.made.initialized += 1;
          return initialize();
        }
        async getCryptoKey(): Promise<unknown> {
          return [{ purpose: this.made.initialized }];
        }
      },
    };
  });
  const open = (options: object = {}) => openGcpClient({ ...options }, recordingContext("/work"));

  test.each<[options: object, made: object]>([
    [{}, {}],
    [{ transport: "grpc" }, {}],
    [{ transport: "rest" }, { fallback: true }],
    [{ endpoint: "https://kms.example" }, { apiEndpoint: "kms.example" }],
    [{ endpoint: "https://kms.example:8443" }, { apiEndpoint: "kms.example", port: 8443 }],
    [
      { endpoint: "https://kms.example", transport: "rest" },
      { fallback: true, apiEndpoint: "kms.example" },
    ],
    [{ endpoint: "kms.example" }, {}],
    [{ endpoint: new URL("https://kms.example") }, {}],
  ])("for %j has the options %j", async (options, expected) => {
    const client = await open(options);
    expect(made).toEqual([{ options: expected, initialized: 1 }]);
    expect(packages.imported).toEqual([["@google-cloud/kms", "/work"]]);
    // Its calls are those of the client.
    expect(await client?.getCryptoKey({ name: "a" }, { timeout: 1000 })).toEqual([{ purpose: 1 }]);
  });

  test.each<[transport: string | undefined, more: object, has: readonly string[]]>([
    [undefined, {}, ["sslCreds"]],
    ["rest", { fallback: true, protocol: "http" }, []],
  ])("for an emulator by %s sends no credentials", async (transport, more, has) => {
    await open({ endpoint: "http://localhost:9010", transport });
    const [{ options } = { options: {} }] = made;
    const { authClient, sslCreds, ...others } = options as Record<string, unknown>;
    expect(others).toEqual({
      ...more,
      apiEndpoint: "localhost",
      port: 9010,
      universeDomain: "googleapis.com",
    });
    expect(Object(authClient).constructor.name).toBe("PassThroughClient");
    expect(sslCreds === undefined ? [] : ["sslCreds"]).toEqual(has);
    const [[name, folders] = []] = packages.resolved as [unknown, readonly string[]][];
    expect([name, folders?.[1]]).toEqual(["@google-cloud/kms", "/work"]);
    expect(folders?.[0]).toBe(dirname(fileURLToPath(new URL("../src/backends/gcp-kms.ts", import.meta.url))));
  });

  test.each<[what: string, sdk: object | undefined]>([
    ["is not installed", undefined],
    ["is another one", {}],
    ["has no class", { KeyManagementServiceClient: {} }],
  ])("is none if the package %s", async (_what, sdk) => {
    packages.sdk = sdk;
    expect(await open()).toBeUndefined();
  });

  test.each<[cause: unknown, message: string]>([
    [Object.assign(new Error("/secret.json"), { code: "ENOENT" }), "No usable Google credentials were found (ENOENT)"],
    [Object.assign(new Error("/secret.json"), { code: 7 }), "No usable Google credentials were found"],
    [new Error("/secret.json"), "No usable Google credentials were found"],
    [undefined, "No usable Google credentials were found"],
  ])("without credentials fails with %o", async (cause, message) => {
    initialize = () => Promise.reject(cause);
    await expect(open()).rejects.toMatchObject({
      exitCode: 3,
      code: "credentials",
      message,
      hint: "Check GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login",
    });
  });

  test("that waits for credentials ends with the command", async () => {
    initialize = () => new Promise(() => undefined);
    const context = { ...recordingContext("/"), signal: AbortSignal.abort(new Error("stopped")) };
    await expect(openGcpClient({}, context)).rejects.toMatchObject({ code: "credentials" });
  });
});

describe("a PKCS#11 module", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signpost-module-"));
    for (const name of ["a.so", "b.so"]) await writeFile(join(folder, name), "");
    await symlink(join(folder, "a.so"), join(folder, "link.so"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const HERE = dirname(fileURLToPath(new URL("../src/backends/pkcs11/module.ts", import.meta.url)));
  const find = (uri: string, options: object = {}) => {
    packages.paths.set("@signpost/pkcs11", "/node_modules/@signpost/pkcs11/dist/index.js");
    if (!packages.paths.has("pkcs11js")) packages.paths.set("pkcs11js", "/binding.js");
    return findModule(uri, { ...options }, recordingContext("/work"));
  };

  test.each<[uri: string, options: object, module: string | undefined]>([
    ["pkcs11:token=op?module-path=/m.so", {}, "/m.so"],
    ["pkcs11:token=op?module-path=/m.so", { module: "/n.so" }, "/m.so"],
    ["pkcs11:token=op", { module: "/n.so" }, "/n.so"],
    ["pkcs11:token=op?module-name=hsm", { modules: { hsm: "/h.so" }, module: "/n.so" }, "/h.so"],
    ["pkcs11:token=op?module-name=other", { modules: { hsm: "/h.so" }, module: "/n.so" }, undefined],
    ["pkcs11:token=op?module-name=hsm", {}, undefined],
    ["pkcs11:token=op", {}, undefined],
    ["pkcs11:token=op", { module: 7 }, undefined],
  ])("of %s with %j is %s", async (uri, options, module) => {
    expect((await find(uri, options))?.module).toBe(module);
  });

  test("has its binding, which may be next to the adapter, and its parameters", async () => {
    const uri = "pkcs11:token=op;object=a?module-path=/m.so";
    expect(await find(uri, { libraryParameters: "p" })).toEqual({
      module: "/m.so",
      parameters: "p",
      uri: readTokenUri(uri),
      binding: "/binding.js",
    });
    expect((await find(uri, { libraryParameters: 7 }))?.parameters).toBeUndefined();
    expect(packages.resolved.slice(0, 2)).toEqual([
      ["@signpost/pkcs11", [HERE, "/work"]],
      ["pkcs11js", [HERE, "/node_modules/@signpost/pkcs11/dist", "/work"]],
    ]);
    packages.resolved.length = 0;
    packages.paths.set("@signpost/pkcs11", undefined);
    packages.paths.set("pkcs11js", undefined);
    expect(await findModule(uri, {}, recordingContext("/work"))).toBeUndefined();
    expect(packages.resolved.at(-1)).toEqual(["pkcs11js", [HERE, "/work"]]);
  });

  test.each<[module: string, allowed: unknown, isAllowed: boolean]>([
    ["a.so", undefined, true],
    ["a.so", ["a.so"], true],
    ["a.so", "a.so", true],
    ["a.so", ["b.so", "a.so"], true],
    ["link.so", ["a.so"], true],
    ["a.so", ["link.so"], true],
    ["a.so", ["b.so"], false],
    ["a.so", [], false],
    ["none.so", ["none.so"], false],
    ["none.so", ["a.so"], false],
  ])("%s is allowed by %j: %s", async (module, allowed, isAllowed) => {
    const at = (name: unknown): string => join(folder, String(name));
    const allowedModules = allowed === undefined ? undefined : Array.isArray(allowed) ? allowed.map(at) : at(allowed);
    const found = await find(`pkcs11:token=op?module-path=${at(module)}`, { allowedModules });
    expect(found !== undefined).toBe(isAllowed);
  });

  test("of an opened key has the names of both URIs, those of the opened one first", () => {
    const [given, opened] = ["pkcs11:token=op;object=a?module-path=/m.so", "pkcs11:token=OP;serial=1;id=%01"];
    const place = { module: "/m.so", parameters: undefined, uri: readTokenUri(given), binding: "/b.js" };
    const known = Object.fromEntries(Object.entries(readTokenUri(opened)).filter(([, value]) => value !== undefined));
    const found = placeOfOpened(place, opened);
    expect(found).toEqual({ ...place, uri: { ...readTokenUri(given), ...known } });
    expect(found.uri).toMatchObject({ token: "OP", serial: "1", id: "01", object: readTokenUri(given).object });
  });
});
