import { generateKeyPairSync } from "node:crypto";
import fs, { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { newMessage, rejection } from "./support/signatures.ts";

/** A mount that hangs, and what ends that. */
const mount = vi.hoisted(() => ({ hangs: true, file: "", waiting: new Set<() => void>() }));
vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  const stat = async (...given: Parameters<typeof real.stat>): Promise<unknown> => {
    if (mount.hangs && given[0] === mount.file) await new Promise<void>((resolve) => mount.waiting.add(resolve));
    return real.stat(...given);
  };
  return { ...real, stat };
});

const directory = mkdtempSync(join(tmpdir(), "signpost-gcp-mount-"));
const gcloud = join(directory, ".config", "gcloud");
mkdirSync(gcloud, { recursive: true });
const file = join(gcloud, "application_default_credentials.json");
mount.file = file;
/** How often the SDK has begun to look at the file. */
const bySdk = [vi.spyOn(fs, "realpathSync"), vi.spyOn(fs, "existsSync")];
const looksOfSdk = (): number =>
  bySdk.flatMap((spy) => spy.mock.calls as unknown[][]).filter(([path]) => path === file).length;

writeFileSync(
  file,
  JSON.stringify({ type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" }),
);
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

const keyVersion = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });

const named = { GOOGLE_APPLICATION_CREDENTIALS: file };
const home = {
  GOOGLE_APPLICATION_CREDENTIALS: "",
  CLOUDSDK_CONFIG: "",
  HOME: directory,
  APPDATA: join(directory, ".config"),
};

test.each([
  ["the file in GOOGLE_APPLICATION_CREDENTIALS", "grpc", named],
  ["the file in GOOGLE_APPLICATION_CREDENTIALS", "rest", named],
  ["gcloud's file with credentials", "grpc", home],
  ["gcloud's file with credentials", "rest", home],
] as const)(
  "%s on a mount that hangs holds one read, for all signers and calls, and none of the SDK: %s",
  async (what, transport, variables) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    mount.hangs = true;
    mount.waiting.clear();
    const before = looksOfSdk();
    const options = { keyVersion, publicKey, transport, endpoint: "https://127.0.0.1:9", policy: false } as const;
    const signers = await Promise.all([
      openGcpKmsSigner({ ...options, callTimeoutMs: 3_000 }),
      openGcpKmsSigner({ ...options, callTimeoutMs: 3_000 }),
    ]);
    const refused = {
      code: "timeout",
      message: `cannot sign with ${keyVersion}: ${what} was not read within 2700 ms`,
    };
    for (let round = 0; round < 2; round += 1) {
      const calls = [...signers, ...signers].map((signer) => rejection(signer.sign(newMessage().digest)));
      expect(await Promise.all(calls)).toMatchObject(calls.map(() => refused));
    }
    expect(mount.waiting.size).toBe(1);
    expect(looksOfSdk()).toBe(before);
    mount.hangs = false;
    for (const goOn of mount.waiting) goOn();
    await vi.waitFor(() => expect(looksOfSdk()).toBeGreaterThanOrEqual(before + signers.length), { timeout: 20_000 });
    await Promise.all(signers.map((signer) => signer.close()));
  },
);

test("gcloud's file in CLOUDSDK_CONFIG is waited for too", async () => {
  mount.hangs = true;
  mount.waiting.clear();
  for (const [name, value] of Object.entries({ ...home, HOME: "", APPDATA: "", CLOUDSDK_CONFIG: gcloud }))
    vi.stubEnv(name, value);
  const options = {
    keyVersion,
    publicKey,
    endpoint: "https://127.0.0.1:9",
    policy: false,
    callTimeoutMs: 300,
  } as const;
  const signer = await openGcpKmsSigner(options);
  expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
  expect(mount.waiting.size).toBe(1);
  for (const goOn of mount.waiting) goOn();
  await signer.close();
});

test("a service without credentials needs no file", async () => {
  mount.hangs = true;
  mount.waiting.clear();
  const signer = await openGcpKmsSigner({ keyVersion, publicKey, endpoint: "http://127.0.0.1:9", policy: false });
  await rejection(signer.sign(newMessage().digest));
  expect(mount.waiting.size).toBe(0);
  await signer.close();
});
