import { generateKeyPairSync } from "node:crypto";
import fs, { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
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
const file = join(directory, "subject-token");
mount.file = file;
/** How often the SDK itself has begun to read the file. It takes these functions when it is loaded. */
const bySdk = vi.spyOn(fs, "realpath");
const readsOfSdk = (): number => bySdk.mock.calls.filter(([path]) => path === file).length;

beforeAll(() => {
  writeFileSync(file, "subject-token");
  const credentials = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: "https://127.0.0.1:9/token",
    credential_source: { file },
  };
  writeFileSync(join(directory, "credentials.json"), JSON.stringify(credentials));
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(directory, "credentials.json"));
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

test("a subject token on a mount that hangs holds one read, for all signers and calls, and none of the SDK", async () => {
  const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const keyVersion = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
  const options = {
    keyVersion,
    publicKey,
    endpoint: "https://127.0.0.1:9",
    policy: false,
    callTimeoutMs: 400,
  } as const;
  const signers = await Promise.all([openGcpKmsSigner(options), openGcpKmsSigner(options)]);
  for (let call = 0; call < 4; call += 1) {
    for (const signer of signers)
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
  }
  await vi.waitFor(() => expect(mount.waiting.size).toBe(1), { timeout: 10_000 });
  expect(readsOfSdk()).toBe(0);
  mount.hangs = false;
  for (const goOn of mount.waiting) goOn();
  await vi.waitFor(
    async () => {
      await Promise.all(signers.map((signer) => rejection(signer.sign(newMessage().digest))));
      expect(readsOfSdk()).toBeGreaterThanOrEqual(signers.length);
    },
    { timeout: 20_000 },
  );
  await Promise.all(signers.map((signer) => signer.close()));
});
