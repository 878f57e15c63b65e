import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, globalAgent } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeEach, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideConfiguration, provideCredentials } from "./environment.ts";

// A session of `aws login` that is over, so that the sign-in service is asked for new credentials.

const SESSION = "arn:aws:iam::111122223333:user/op";
const folder = mkdtempSync(join(tmpdir(), "aws-sign-in-"));
let status = 200;
let body = "";
let requests = 0;
const service = createServer((_asked, response) => {
  requests += 1;
  response.writeHead(status).end(body);
});
await new Promise<void>((listening) => service.listen(0, "0.0.0.0", listening));
const { port } = service.address() as AddressInfo;
afterAll(() => {
  service.closeAllConnections();
  service.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  requests = 0;
  provideCredentials(undefined);
  // The SDK goes on to the metadata service, which nothing names. Whatever this machine has at its address is not asked.
  delete process.env["AWS_EC2_METADATA_DISABLED"];
  Object.assign(globalAgent, { createConnection: () => connect(1, "127.0.0.1") });
  process.env["AWS_LOGIN_CACHE_DIRECTORY"] = folder;
  process.env["AWS_ENDPOINT_URL_SIGNIN"] = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = { accessKeyId: "AKIA1", secretAccessKey: "secret-1", sessionToken: "token-1", accountId: "1" };
  const session = {
    accessToken: { ...keys, expiresAt: new Date(0).toISOString() },
    clientId: "client",
    refreshToken: "refresh-token",
    dpopKey: privateKey.export({ type: "sec1", format: "pem" }),
  };
  writeFileSync(join(folder, `${createHash("sha256").update(SESSION).digest("hex")}.json`), JSON.stringify(session));
  provideConfiguration(folder, `[default]\nlogin_session = ${SESSION}\nregion = eu-west-1\n`);
});

const open = () =>
  openAwsKmsSigner({ key: "alias/op-2026", endpoint: "http://127.0.0.1:1", policy: { maxAttempts: 1 } });

test.each([500, 503])("a sign-in service that answers %i passes, whatever the SDK asks after it", async (down) => {
  [status, body] = [down, "{}"];
  await expect(open()).rejects.toMatchObject({
    code: "unavailable",
    transient: true,
    message: expect.stringMatching(new RegExp(`their source, http[^ ]+, answered HTTP status ${down} `)),
  });
});

test.each(["<html>", "{}", ""])("one that answers 200 and %o passes", async (page) => {
  [status, body] = [200, page];
  await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
});

test("one that cannot be reached passes", async () => {
  process.env["AWS_ENDPOINT_URL_SIGNIN"] = "http://127.0.0.1:1";
  await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
});

test("one that refuses does not, and nothing is shown of what it was sent", async () => {
  [status, body] = [403, '{"__type":"AccessDeniedException","error":"TOKEN_EXPIRED"}'];
  const refused: unknown = await open().catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "access_denied", transient: false });
  expect(inspect(refused, { depth: Infinity, showHidden: true })).not.toMatch(/refresh-token|secret-1/);
});

test("one in the clear off the loopback interface is sent nothing", async () => {
  process.env["AWS_ENDPOINT_URL_SIGNIN"] = `http://0.0.0.0:${port}`;
  await expect(open()).rejects.toMatchObject({ code: "access_denied", transient: false });
  expect(requests).toBe(0);
});
