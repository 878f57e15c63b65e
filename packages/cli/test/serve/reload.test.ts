import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createJwksEndpoint } from "@signpost/core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { get, openRaw } from "./support/raw.ts";
import { startBefore, startReady, type Served } from "./support/serve.ts";

const ISSUER = "https://op.example";
async function twoKeys(): Promise<KeyFolder> {
  const folder = await createKeyFolder();
  await Promise.all(["a.pem", "b.pem"].map((name) => folder.addKey(name)));
  return folder;
}

const entry = (name: string): object => ({ keyId: name, signer: `local:${name}.pem` });
const config = (...names: readonly string[]): object => ({ issuer: ISSUER, keys: names.map(entry) });
const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();

async function kids({ keySet }: Pick<Served, "keySet">): Promise<readonly string[]> {
  const { keys } = (await (await fetch(keySet)).json()) as { readonly keys: readonly { readonly kid: string }[] };
  return keys.map(({ kid }) => kid);
}

async function startWith(folder: KeyFolder, content: object): Promise<Served> {
  await folder.write("signpost.config.json", content);
  const served = await startReady([], { cwd: folder.path });
  await served.logged("loaded");
  return served;
}

describe.concurrent("a change is served", () => {
  test("of the file, when it is written in place", async () => {
    await using folder = await twoKeys();
    await using served = await startWith(folder, config("a"));
    await folder.write("signpost.config.json", config("b", "a"));
    expect(await served.logged("loaded")).toMatchObject({ reason: "change" });
    expect(await kids(served)).toEqual(["b", "a"]);
    expect(await served.logged("keys")).toMatchObject({ active: "b", rotation: false, nextChange: null });
    expect(await served.metric('signpost_config_loads_total{result="success"}')).toBe(2);
  });

  test("of the file, when Kubernetes swaps the link of a ConfigMap", async () => {
    await using folder = await twoKeys();
    const at = (name: string): string => join(folder.path, "etc", name);
    for (const [version, names] of [
      ["..1", ["a"]],
      ["..2", ["b", "a"]],
    ] as const) {
      await mkdir(at(version), { recursive: true });
      await writeFile(join(at(version), "op.json"), JSON.stringify(config(...names)));
    }
    await symlink("..1", at("..data"));
    await symlink("..data/op.json", at("op.json"));
    await using served = await startReady(["--config", "etc/op.json"], { cwd: folder.path });
    await served.logged("loaded");
    await symlink("..2", at("..data_tmp"));
    await rename(at("..data_tmp"), at("..data"));
    await rm(at("..1"), { recursive: true });
    await served.logged("loaded");
    expect(await kids(served)).toEqual(["b", "a"]);
  });

  test("of a module too, which runs again", async () => {
    await using folder = await twoKeys();
    const module = (names: readonly string[]): string => `export default ${JSON.stringify(config(...names))};\n`;
    await folder.write("signpost.config.mjs", module(["a"]));
    await using served = await startReady([], { cwd: folder.path });
    await served.logged("loaded");
    await folder.write("signpost.config.mjs", module(["b"]));
    await served.logged("loaded");
    expect(await kids(served)).toEqual(["b"]);
  });

  test("of a schedule, without a load, with the bytes of the library", async () => {
    await using folder = await twoKeys();
    const write = (changes: Date): Promise<void> =>
      folder.write("signpost.config.json", {
        issuer: ISSUER,
        keys: {
          maxTokenLifetimeSeconds: 3600,
          announceHours: 2,
          sharedCaches: false,
          entries: [
            { ...entry("a"), announcedFrom: hours(-50), activeFrom: hours(-50) },
            { ...entry("b"), announcedFrom: hours(-3), activeFrom: changes },
          ],
        },
      });
    await using served = await startBefore(write, [], { cwd: folder.path });
    const first = served.lines.find(({ event }) => event === "keys");
    expect(first).toMatchObject({ active: "a", nextChange: served.changes.toISOString(), rotation: true });
    expect(first?.message).toBe("publishes a (active), b (announced); cached for 5 minutes");
    expect(await served.logged("keys")).toMatchObject({ active: "b", rotation: true });
    const response = await fetch(served.keySet);
    expect(response.headers.get("cache-control")).toBe("public, max-age=300, must-revalidate");
    const { keys } = (await response.json()) as { readonly keys: readonly { kid: string; x: string; y: string }[] };
    expect(keys.map(({ kid }) => kid)).toEqual(["b", "a"]);
    const [b, ...retiring] = keys.map(({ kid, x, y }) => ({
      keyId: kid,
      publicKey: { kty: "EC", crv: "P-256", x, y } as const,
    }));
    const signer = { uri: "local:", publicKey: b?.publicKey, sign: () => Promise.reject(new Error("not here")) };
    const library = createJwksEndpoint({
      issuer: ISSUER,
      keys: [{ keyId: "b", signer: signer as never }, ...retiring],
    });
    expect(response.headers.get("etag")).toBe(library.respond("GET").headers["ETag"]);
    expect(await served.metric('signpost_config_loads_total{result="success"}')).toBe(1);
  });
});

describe("in one process", () => {
  let shared: KeyFolder;
  let served: Served;
  let changes = 0;
  /** Puts the configuration with one key there, as the start of each test. */
  const reset = async (): Promise<void> => {
    changes += 1;
    // Never the content that is there.
    await shared.write("signpost.config.json", `${JSON.stringify(config("a"))}${"\n".repeat(changes)}`);
    await served.logged("loaded");
    expect(await kids(served)).toEqual(["a"]);
  };

  beforeAll(async () => {
    shared = await twoKeys();
    await shared.write("signpost.config.json", config("a"));
    served = await startReady([], { cwd: shared.path });
    await served.logged("loaded");
  });
  beforeEach(reset);
  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await shared[Symbol.asyncDispose]();
  });

  test("a change of the file is served when an editor replaces it", async () => {
    await shared.write("next", config("b", "a"));
    await rename(join(shared.path, "next"), join(shared.path, "signpost.config.json"));
    await served.logged("loaded");
    expect(await kids(served)).toEqual(["b", "a"]);
  });

  test("a change of the file is served with another path, and the old path is gone", async () => {
    await shared.write("signpost.config.json", { ...config("a"), mountPrefix: "/oidc" });
    await served.logged("loaded");
    expect((await fetch(served.keySet)).status).toBe(404);
    expect((await fetch(served.keySet.replace("/jwks", "/oidc/jwks"))).status).toBe(200);
  });

  const cases: readonly (readonly [string, unknown, string, string])[] = [
    ["no JSON", "{ half a file", "config_syntax", "signpost.config.json: line 1, column 3: not JSON"],
    [
      "an unknown name",
      { ...config("b"), isuer: "x" },
      "invalid_configuration",
      "isuer: unknown option; did you mean issuer?",
    ],
    ["a missing key", config("gone"), "invalid_configuration", "signpost.config.json: keys[0].signer: "],
    [
      "a kid that now names another key",
      { issuer: ISSUER, keys: [{ keyId: "a", signer: "local:b.pem" }] },
      "kid_rebound",
      'the kid "a" named another key',
    ],
  ];
  const unusable = "a configuration that cannot be used leaves what is served, and says so everywhere";
  test.each(cases)(`${unusable}: %s`, async (_name, content, code, message) => {
    const failures = 'signpost_config_loads_total{result="failure"}';
    const failed = (await served.metric(failures)) ?? 0;
    const before = await (await fetch(served.keySet)).text();
    await shared.write("signpost.config.json", content);
    const line = await served.logged("load_failed");
    expect(line).toMatchObject({ level: "error", reason: "change", message: expect.stringContaining(message) });
    expect(line["code"]).toBe(code);
    expect(await (await fetch(served.keySet)).text()).toBe(before);
    expect(await served.metric("signpost_config_last_load_successful")).toBe(0);
    expect(await served.metric(failures)).toBe(failed + 1);
    expect((await served.ask("/readyz")).status).toBe(200);
    expect((await served.ask("/")).text).toMatch(/class="error"/);
    // Corrected.
    await shared.write("signpost.config.json", config("b", "a"));
    await served.logged("loaded");
    expect(await served.metric("signpost_config_last_load_successful")).toBe(1);
    expect((await served.ask("/")).text).not.toMatch(/class="error"/);
  });

  test("SIGHUP keeps a key that is known and cannot be opened now", async () => {
    const sample = 'signpost_key_failures_total{code="invalid_configuration"}';
    const before = (await served.metric(sample)) ?? 0;
    await rename(join(shared.path, "a.pem"), join(shared.path, "away.pem"));
    served.child.kill("SIGHUP");
    expect(await served.logged("key_kept")).toMatchObject({ level: "warn", code: "invalid_configuration" });
    await served.logged("loaded");
    expect(await kids(served)).toEqual(["a"]);
    expect(await served.metric(sample)).toBe(before + 1);
    await rename(join(shared.path, "away.pem"), join(shared.path, "a.pem"));
  });
});

describe("SIGHUP", () => {
  test("reads each key again: a name that leads to another key now", async () => {
    await using folder = await twoKeys();
    await using served = await startWith(folder, { issuer: ISSUER, keys: [{ signer: "local:a.pem" }] });
    const [before] = await kids(served);
    await folder.addKey("a.pem");
    // A change of the file does not, for a key that is known.
    await folder.write("signpost.config.json", { issuer: ISSUER, keys: [{ signer: "local:a.pem" }], mountPrefix: "" });
    await served.logged("loaded");
    expect(await kids(served)).toEqual([before]);
    served.child.kill("SIGHUP");
    expect(await served.logged("loaded")).toMatchObject({ reason: "signal" });
    const [after] = await kids(served);
    expect(after).not.toBe(before);
  });
});

test("no request is lost while the configuration is loaded again and again", async () => {
  await using folder = await twoKeys();
  await using served = await startWith(folder, config("a"));
  const bodies = new Set<string>();
  let loads = 0;
  let isDone = false;
  const client = async (): Promise<number> => {
    let answered = 0;
    while (!isDone) {
      const response = await fetch(served.keySet);
      expect(response.status).toBe(200);
      bodies.add(await response.text());
      answered += 1;
    }
    return answered;
  };
  // One that sends many requests at once in one connection.
  const pipeline = async (): Promise<number> => {
    const [batches, size] = [25, 20];
    const raw = await openRaw(served.keySet);
    const answered = (): number => raw.received().match(/HTTP\/1\.1 200 OK/g)?.length ?? 0;
    for (let batch = 1; batch <= batches; batch += 1) {
      raw.socket.write(get(served.keySet).repeat(size));
      await expect.poll(answered, { interval: 1, timeout: 20_000 }).toBe(batch * size);
    }
    raw.socket.destroy();
    const sent = batches * size;
    return sent;
  };
  const clients = [client(), client(), client(), client()];
  const piped = pipeline();
  for (; loads < 8; loads += 1) {
    if (loads % 2 === 0) await folder.write("signpost.config.json", config(...(loads % 4 === 0 ? ["b", "a"] : ["a"])));
    else served.child.kill("SIGHUP");
    await served.logged("loaded");
  }
  isDone = true;
  const counts = await Promise.all([...clients, piped]);
  const sum = counts.reduce((total, count) => total + count, 0);
  expect(bodies.size).toBe(2);
  expect(await served.metric('signpost_http_requests_total{port="public",route="jwks",method="GET",code="200"}')).toBe(
    sum,
  );
});
