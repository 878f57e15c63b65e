import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { withFreshFiles } from "../src/profile-files.ts";
import { provideConfiguration, provideCredentials } from "./environment.ts";

beforeEach(() => provideCredentials(undefined));

/** What is mounted where a file was meant: a folder, as Kubernetes makes of a volume's path that is not there. */
const FOLDER = tmpdir();

test.each<[string, Readonly<Record<string, string>>]>([
  ["web identity", { AWS_ROLE_ARN: "arn:aws:iam::111122223333:role/op", AWS_WEB_IDENTITY_TOKEN_FILE: FOLDER }],
  [
    "EKS Pod Identity",
    {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: FOLDER,
    },
  ],
])("a folder in place of the token's file of %s is access_denied, and named so", async (_source, variables) => {
  Object.assign(process.env, variables);
  const opening = openAwsKmsSigner({
    key: "alias/op-2026",
    region: "eu-west-1",
    endpoint: "http://127.0.0.1:1",
    policy: { maxAttempts: 1 },
  });
  await expect(opening).rejects.toMatchObject({
    code: "access_denied",
    transient: false,
    message: expect.stringMatching(/could not get credentials: EISDIR$/),
  });
});

/** What STS answers for a role, and for credentials that it does not know. */
const ASSUMED = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
const REFUSED = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>`;

const DIGEST = new Uint8Array(32).fill(1);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const folder = mkdtempSync(join(tmpdir(), "aws-files-"));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await fake.stop();
});

const write = (name: string, id: string): void =>
  writeFileSync(join(folder, name), `[default]\naws_access_key_id = ${id}\naws_secret_access_key = secret\n`);

test("a credentials file that appears late is found, by open signers and by new ones", async () => {
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = join(folder, "late");
  const options = { key: key.arn, endpoint: fake.endpoint };
  await using early = await openAwsKmsSigner({ ...options, publicKey: key.publicKey?.export({ format: "jwk" }) ?? {} });
  await expect(early.sign(DIGEST)).rejects.toMatchObject({ code: "access_denied" });
  await expect(openAwsKmsSigner(options)).rejects.toMatchObject({ code: "access_denied" });
  write("late", "AKIA1");
  await using signer = await openAwsKmsSigner(options);
  await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  await expect(early.sign(DIGEST)).resolves.toHaveLength(64);
});

test("a credentials file that another program rewrites is read again when KMS refuses what it held", async () => {
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = join(folder, "rewritten");
  write("rewritten", "AKIA1");
  await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: { maxAttempts: 1 } });
  write("rewritten", "AKIA2");
  fake.acceptOnly(["AKIA2"], "UnrecognizedClientException");
  await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  fake.acceptOnly(undefined);
});

test("a source profile's credentials that STS refuses are read again", async () => {
  write("source", "AKIA1");
  let current = "AKIA1";
  const sts = createServer(({ headers }, response) => {
    const isCurrent = String(headers.authorization).includes(`Credential=${current}/`);
    response.writeHead(isCurrent ? 200 : 403).end(isCurrent ? ASSUMED : REFUSED);
  });
  await new Promise<void>((listening) => sts.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void sts.close());
  const { port } = sts.address() as AddressInfo;
  provideConfiguration(
    folder,
    "[profile op]\nrole_arn = arn:aws:iam::111122223333:role/op\nsource_profile = default\n",
  );
  Object.assign(process.env, {
    AWS_PROFILE: "op",
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "source"),
    AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${port}`,
  });
  const options = { key: key.arn, endpoint: fake.endpoint, policy: { maxAttempts: 1 } };
  await using _earlier = await openAwsKmsSigner(options);
  write("source", "AKIA2");
  current = "AKIA2";
  await using signer = await openAwsKmsSigner(options);
  await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
});

test("one question at a time reads the files again, since a file system may hang", async () => {
  const fail = (): Promise<never> => Promise.reject(new Error("none"));
  await expect(withFreshFiles(() => fail)()).rejects.toThrow("none");
  let arrive: (identity: string) => void = () => {};
  const hung = new Promise<string>((resolve) => (arrive = resolve));
  const seen: boolean[] = [];
  const ask = (answer: Promise<string>): Promise<string> =>
    withFreshFiles((ignoresCache) => async () => {
      seen.push(ignoresCache());
      return answer;
    })();
  const first = ask(hung);
  await ask(Promise.resolve("cached"));
  expect(seen).toEqual([true, false]);
  arrive("fresh");
  await first;
  await ask(Promise.resolve("cached"));
  expect(seen).toEqual([true, false, false]);
});

test("a device in place of the cached token of SSO is access_denied at once, and is not read", async () => {
  const home = mkdtempSync(join(folder, "home-"));
  const cache = join(home, ".aws", "sso", "cache");
  mkdirSync(cache, { recursive: true });
  symlinkSync("/dev/null", join(cache, `${createHash("sha1").update("corp").digest("hex")}.json`));
  process.env["HOME"] = home;
  provideConfiguration(home, "[default]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = op\n");
  const opening = openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: { maxAttempts: 1 } });
  await expect(opening).rejects.toMatchObject({
    code: "access_denied",
    message: expect.stringMatching(/could not get credentials: sso_session: expected a regular file/),
  });
});
