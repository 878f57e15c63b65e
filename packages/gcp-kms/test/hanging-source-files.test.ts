import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
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
const inDirectory = (name: string): string => join(directory, name);
const write = (name: string, content: unknown): void =>
  writeFileSync(inDirectory(name), typeof content === "string" ? content : JSON.stringify(content));

/** How often the SDK itself has begun to look at the file. It takes some of these functions when it is loaded. */
const bySdk = [
  vi.spyOn(fs, "realpath"),
  vi.spyOn(fs.promises, "realpath"),
  vi.spyOn(fs.promises, "lstat"),
  vi.spyOn(fs.promises, "readFile"),
];
const looksOfSdk = (): number =>
  bySdk.flatMap((spy) => spy.mock.calls as unknown[][]).filter(([path]) => path === mount.file).length;

const { cert, key } = selfSignedCertificate("workload.example");
const certificate = {
  certificate_config_location: inDirectory("config.json"),
  trust_chain_path: inDirectory("chain.pem"),
};
const executable = { command: `"${process.execPath}" -e 0`, output_file: inDirectory("output.json") };

/** By the file on the mount: what names it. */
const SOURCES = [
  ["subject-token", { file: inDirectory("subject-token") }],
  ["output.json", { executable }],
  ["config.json", { certificate }],
  ["named.json", { certificate: { use_default_certificate_config: true } }],
  ["certificate.pem", { certificate }],
  ["key.pem", { certificate }],
  ["chain.pem", { certificate }],
] as const;

beforeAll(() => {
  write("subject-token", "subject-token");
  write("output.json", "");
  const workload = { cert_path: inDirectory("certificate.pem"), key_path: inDirectory("key.pem") };
  for (const name of ["config.json", "named.json"]) write(name, { cert_configs: { workload } });
  write("certificate.pem", cert);
  write("key.pem", key);
  write("chain.pem", cert);
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", inDirectory("credentials.json"));
  vi.stubEnv("GOOGLE_API_CERTIFICATE_CONFIG", inDirectory("named.json"));
  vi.stubEnv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
});
beforeEach(() => {
  mount.hangs = true;
  mount.waiting.clear();
  for (const spy of bySdk) spy.mockClear();
});
afterAll(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

/** With the signers' own file of credentials, in front of a token endpoint that refuses connections. */
function nameSource(credentialSource: unknown) {
  write("credentials.json", {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: "https://127.0.0.1:9/token",
    credential_source: credentialSource,
  });
  const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
  const keyVersion = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
  return { keyVersion, publicKey, endpoint: "https://127.0.0.1:9", policy: false } as const;
}

test.each(["certificate.pem", "key.pem", "chain.pem"])(
  "a FIFO in place of the file %s is refused, and the SDK does not open it",
  async (name) => {
    mount.hangs = false;
    mount.file = inDirectory(name);
    const before = readFileSync(mount.file);
    rmSync(mount.file);
    execFileSync("mkfifo", [mount.file]);
    const signer = await openGcpKmsSigner({ ...nameSource({ certificate }), callTimeoutMs: 20_000 });
    try {
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({
        code: "access_denied",
        message: expect.stringMatching(/: \w+_path: expected a regular file, not a FIFO/) as string,
      });
      expect(looksOfSdk()).toBe(0);
    } finally {
      await signer.close();
      rmSync(mount.file);
      writeFileSync(mount.file, before);
    }
  },
);

test.each(SOURCES)(
  "the file %s on a mount that hangs holds one read, for all signers and calls, and none of the SDK",
  async (name, credentialSource) => {
    mount.file = inDirectory(name);
    const options = { ...nameSource(credentialSource), callTimeoutMs: 400 };
    const signers = await Promise.all([openGcpKmsSigner(options), openGcpKmsSigner(options)]);
    for (let call = 0; call < 4; call += 1) {
      for (const signer of signers)
        expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
    }
    await vi.waitFor(() => expect(mount.waiting.size).toBe(1), { timeout: 10_000 });
    expect(looksOfSdk()).toBe(0);
    mount.hangs = false;
    for (const goOn of mount.waiting) goOn();
    await vi.waitFor(
      async () => {
        await Promise.all(signers.map((signer) => rejection(signer.sign(newMessage().digest))));
        expect(looksOfSdk()).toBeGreaterThanOrEqual(signers.length);
      },
      { timeout: 20_000 },
    );
    await Promise.all(signers.map((signer) => signer.close()));
  },
);
