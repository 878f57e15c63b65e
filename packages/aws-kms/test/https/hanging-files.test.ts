import { generateKeyPairSync } from "node:crypto";
import fs, { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideConfiguration, provideCredentials } from "../environment.ts";

/** A mount that hangs, and the accesses that wait for it. */
const mount = vi.hoisted(() => ({ folder: "", waiting: [] as (() => void)[] }));
vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  const hung = async (path: unknown): Promise<void> => {
    if (String(path).startsWith(mount.folder)) await new Promise<void>((resolve) => mount.waiting.push(resolve));
  };
  const stat = async (...given: Parameters<typeof real.stat>): Promise<unknown> => {
    await hung(given[0]);
    return real.stat(...given);
  };
  const access = async (...given: Parameters<typeof real.access>): Promise<void> => {
    await hung(given[0]);
    return real.access(...given);
  };
  return { ...real, stat, access };
});

const folder = mkdtempSync(join(tmpdir(), "signpost-aws-mount-"));
const file = join(folder, "token");
mount.folder = folder;
writeFileSync(file, "token");
/** A folder that does not hang. */
const other = mkdtempSync(join(tmpdir(), "signpost-aws-files-"));

beforeEach(() => provideCredentials(undefined));
afterEach(() => {
  for (const goOn of mount.waiting.splice(0)) goOn();
});
afterAll(() => {
  vi.restoreAllMocks();
  for (const each of [folder, other]) rmSync(each, { recursive: true });
});

/** Reads of the file by the SDK, which takes these functions when it is loaded. */
const bySdk = [vi.spyOn(fs, "readFileSync"), vi.spyOn(promises, "readFile")];
const readsOfSdk = (): number =>
  bySdk.flatMap(({ mock }): readonly (readonly unknown[])[] => mock.calls).filter(([path]) => path === file).length;

const SOURCES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["a web identity", { AWS_ROLE_ARN: "arn:aws:iam::111122223333:role/op", AWS_WEB_IDENTITY_TOKEN_FILE: file }],
  [
    "EKS Pod Identity",
    {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    },
  ],
];

/** Profiles that name the file, and those that use them as their source. */
const ROLE = "role_arn = arn:aws:iam::111122223333:role/op";
const CONFIGURATION = `
[profile op]
${ROLE}
web_identity_token_file = ${file}
[profile chained]
${ROLE}
source_profile = op
[profile device]
${ROLE}
web_identity_token_file = /dev/null
`;
const useProfile = (name: string): void => {
  provideConfiguration(other, CONFIGURATION);
  process.env["AWS_PROFILE"] = name;
};
const TRANSPORTS = ["sdk", "https"] as const;

const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const open = (transport: "sdk" | "https", attemptTimeoutMs = 5000) =>
  openAwsKmsSigner({
    key: "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    publicKey,
    endpoint: "http://127.0.0.1:1",
    transport,
    policy: { attemptTimeoutMs, maxAttempts: 1 },
  });

/** Two signers call so often while the file does not answer, then it does. */
async function expectOneAccess(transport: (typeof TRANSPORTS)[number], calls: number): Promise<void> {
  const signers = await Promise.all([open(transport, 200), open(transport, 200)]);
  const before = readsOfSdk();
  for (let call = 0; call < calls; call += 1) {
    for (const signer of signers)
      await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({ code: "timeout" });
  }
  // A call goes on to the file after its end, since the SDK may take longer to load.
  await vi.waitFor(() => expect(mount.waiting).toHaveLength(1), { timeout: 20_000 });
  expect(readsOfSdk()).toBe(before);
  for (const goOn of mount.waiting.splice(0)) goOn();
  await vi.waitFor(() => expect(readsOfSdk()).toBeGreaterThan(before), { timeout: 20_000 });
  await Promise.all(signers.map((signer) => signer.close()));
}

test.each(SOURCES.flatMap((source) => TRANSPORTS.map((transport) => [...source, transport] as const)))(
  "the token of %s on a mount that hangs holds one access, for all signers and calls: %#",
  async (_source, variables, transport) => {
    Object.assign(process.env, variables);
    await expectOneAccess(transport, 4);
  },
);

test.each(["op", "chained"].flatMap((profile) => TRANSPORTS.map((transport) => [profile, transport] as const)))(
  "the token that the profile %s needs, on a mount that hangs, is not read by the SDK, over %s",
  async (profile, transport) => {
    useProfile(profile);
    await expectOneAccess(transport, 1);
  },
);

test.each(TRANSPORTS)(
  "a device in place of a profile's token is access_denied, and is not read, over %s",
  async (transport) => {
    useProfile("device");
    await using signer = await open(transport);
    await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({
      code: "access_denied",
      message: expect.stringContaining(
        "web_identity_token_file: expected a regular file, not a FIFO, device or folder",
      ),
    });
  },
);

test.each(TRANSPORTS)("credentials in the environment need no token's file: %s", async (transport) => {
  provideCredentials({ accessKeyId: "AKIA1", secretAccessKey: "secret-1" });
  Object.assign(process.env, ...SOURCES.map(([, variables]) => variables));
  await using signer = await open(transport);
  await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({ code: "unavailable" });
  expect(mount.waiting).toHaveLength(0);
});

test.each(SOURCES)(
  "a device in place of the token's file of %s is access_denied, and is not read",
  async (_, variables) => {
    for (const [name, value] of Object.entries(variables)) process.env[name] = value === file ? "/dev/null" : value;
    const variable = Object.keys(variables).find((name) => variables[name] === file) ?? "";
    await using signer = await open("sdk");
    await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({
      code: "access_denied",
      message: expect.stringContaining(
        `could not get credentials: ${variable}: expected a regular file, not a FIFO, device or folder`,
      ),
    });
  },
);

test("configuration files on a mount that hangs hold one access each, for all openings over https", async () => {
  provideCredentials({ accessKeyId: "AKIA1", secretAccessKey: "secret-1" });
  process.env["AWS_CONFIG_FILE"] = join(folder, "config");
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = join(folder, "credentials");
  for (let opening = 0; opening < 3; opening += 1) {
    const opened = openAwsKmsSigner({
      key: "alias/op-2026",
      region: "eu-west-1",
      endpoint: "http://127.0.0.1:1",
      transport: "https",
      openDeadlineMs: 100,
    });
    await expect(opened).rejects.toMatchObject({ code: "timeout" });
  }
  expect(mount.waiting).toHaveLength(2);
});
