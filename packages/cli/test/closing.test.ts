import type { GuardedSigner } from "@signpost/core";
import { createPublicKey } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";

// Every key that a command has opened is closed when it ends, however it ends.

const keys = vi.hoisted(() => ({ opened: 0, closed: 0 }));
vi.mock("../src/keys/open-key.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../src/keys/open-key.ts")>();
  const keyOpener: typeof original.keyOpener = (...args) => {
    const open = original.keyOpener(...args);
    return async (uri) => {
      const key = await open(uri);
      keys.opened += 1;
      const close = async (): Promise<void> => {
        // Longer than whatever does not wait for it.
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        await key.close();
        keys.closed += 1;
      };
      return Object.create(key, { close: { value: close } }) as GuardedSigner;
    };
  };
  return { ...original, keyOpener };
});

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  const publicKey = await folder.addKey("a.pem");
  await Promise.all(["b.pem", "c.pem"].map((name) => folder.addKey(name)));
  // Doctor warns of it, whatever the user's mask is.
  await chmod(join(folder.path, "a.pem"), 0o644);
  const issuer = "http://127.0.0.1:9";
  const signer = (name: string): string => `local:${join(folder.path, name)}`;
  const allowed = { issuer, allowInsecureIssuer: true };
  const dates = (active: string): object => ({ announcedFrom: active, activeFrom: active });
  const entries = [
    { keyId: "a", signer: signer("a.pem"), ...dates("2020-01-01T00:00:00Z") },
    {
      keyId: "b",
      signer: signer("b.pem"),
      announcedFrom: "2020-01-02T00:00:00Z",
      activeFrom: "2999-01-01T00:00:00Z",
    },
  ];
  await folder.write("list.json", {
    ...allowed,
    keys: [{ keyId: "a", signer: signer("a.pem") }, { signer: signer("b.pem") }],
  });
  await folder.write("half.json", { ...allowed, keys: [{ signer: signer("a.pem") }, { signer: signer("away.pem") }] });
  await folder.write("schedule.json", { ...allowed, keys: { maxTokenLifetimeSeconds: 3600, entries } });
  await folder.write("chain.pem", certificateOf(createPublicKey({ key: publicKey, format: "jwk" }), ["op.example"]));
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => void Object.assign(keys, { opened: 0, closed: 0 }));

test.each<[line: string, opened: number, code: number, stdin?: string]>([
  ["kid local:a.pem", 1, 0],
  ["jwks --config list.json", 2, 0],
  ["jwks --config list.json --out a.pem", 2, 2],
  ["jwks --config half.json", 1, 2],
  ["sign local:a.pem", 1, 0, "{}"],
  ["sign local:a.pem", 1, 2, '{"exp":"soon"}'],
  ["sign --config list.json", 2, 0, "{}"],
  ["sign --config list.json", 2, 2, '{"exp":"soon"}'],
  ["csr local:a.pem --dns op.example", 1, 0],
  ["csr local:a.pem --dns op.example --out none/a.csr", 1, 2],
  ["cert self-signed local:a.pem --subject CN=op.example", 1, 0],
  ["cert inspect chain.pem --config list.json", 2, 1],
  ["doctor local:a.pem --samples 1", 1, 1],
  ["doctor --config list.json --samples 0", 2, 1],
  ["bench local:a.pem --calls 2 --concurrency 1", 1, 0],
  ["keygen local:new.pem", 1, 0],
  ["rotate announce --signer local:c.pem --key-id c --config schedule.json --dry-run", 3, 0],
  ["rotate announce --signer local:c.pem --key-id a --config schedule.json --dry-run", 3, 2],
  ["rotate emergency a --config schedule.json --dry-run", 1, 0],
  ["rotate emergency a --signer local:c.pem --config schedule.json --dry-run", 3, 0],
  ["rotate emergency a --signer local:a.pem --config schedule.json --dry-run", 3, 2],
])("signpost %s closes the keys that it opened: %i", async (line, opened, code, stdin = "") => {
  const args = line.split(" ").map((word) => word.replace(/^local:/, `local:${folder.path}/`));
  const result = await runApp(args, { cwd: folder.path, stdin });
  expect({ ...keys, code: result.code, text: code === result.code ? "" : result.stderr }).toEqual({
    opened,
    closed: opened,
    code,
    text: "",
  });
});

test("a key that was made is there", async () => {
  expect(await readFile(join(folder.path, "new.pem"), "utf8")).toContain("PRIVATE KEY");
});
