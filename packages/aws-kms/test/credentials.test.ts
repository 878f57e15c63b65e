import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { inspect } from "node:util";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createKeySet, signWith } from "@signpost/core";
import { openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { withRenewedCredentials } from "../src/credentials.ts";
import { clientOf, provideCredentials } from "./environment.ts";

const DIGEST = new Uint8Array(32).fill(1);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const { endpoint } = fake;

/** A container's credentials endpoint, as ECS and EKS Pod Identity have it: each answer is a new set. */
let issued = 0;
/** What the issuer waits for before it answers. */
let held: Promise<void> = Promise.resolve();
/** As many of the next requests are never answered. */
let hangNext = 0;
/** Connections whose request is never answered. */
const unanswered = new Set<Socket>();
const issuer = createServer(({ socket }, response) => {
  if (hangNext > 0) {
    hangNext -= 1;
    unanswered.add(socket);
    socket.once("close", () => unanswered.delete(socket));
  } else void held.then(() => issue(response));
});
function issue(response: ServerResponse): void {
  issued += 1;
  const Expiration = new Date(Date.now() + 3_600_000).toISOString();
  response.setHeader("content-type", "application/json");
  response.end(
    JSON.stringify({
      AccessKeyId: `AKIA${issued}`,
      SecretAccessKey: `secret-${issued}`,
      Token: `token-${issued}`,
      Expiration,
    }),
  );
}
await new Promise<void>((listening) => issuer.listen(0, "127.0.0.1", listening));
const { port } = issuer.address() as AddressInfo;

beforeEach(() => {
  issued = 0;
  hangNext = 0;
  held = Promise.resolve();
  fake.reset();
  fake.acceptOnly(undefined);
  provideCredentials(undefined);
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `http://127.0.0.1:${port}/credentials`;
});
afterAll(async () => {
  issuer.closeAllConnections();
  issuer.close();
  await fake.stop();
});

function usedKeys(): readonly string[] {
  return fake.requests.map(({ accessKeyId }) => accessKeyId);
}

describe("our own client", () => {
  test("asks once for credentials and keeps them", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    await Promise.all([signer.sign(DIGEST), signer.sign(DIGEST)]);
    expect(usedKeys()).toEqual(["AKIA1", "AKIA1", "AKIA1"]);
    expect(issued).toBe(1);
  });

  test.each(["ExpiredTokenException", "UnrecognizedClientException", "InvalidSignatureException"])(
    "gets credentials anew when they are refused as %s, inside the same attempt",
    async (refusal) => {
      await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, policy: { maxAttempts: 1 } });
      fake.acceptOnly(["AKIA2"], refusal);
      await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
      expect(usedKeys()).toEqual(["AKIA1", "AKIA1", "AKIA2"]);
      expect(signer.health().status).toBe("ready");
    },
  );

  test("does so while opening too", async () => {
    fake.acceptOnly(["AKIA2"]);
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    expect(signer.uri).toContain(key.arn);
    expect(usedKeys()).toEqual(["AKIA1", "AKIA2"]);
  });

  test("waits for them no longer than the deadline, and uses them when they come", async () => {
    let answer = (): void => undefined;
    held = new Promise((resolve) => (answer = resolve));
    const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy: { deadlineMs: 200 } });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "timeout" });
    await expect(openAwsKmsSigner({ key: key.arn, endpoint, openDeadlineMs: 200 })).rejects.toMatchObject({
      code: "timeout",
    });
    expect(fake.requests).toEqual([]);
    answer();
    await vi.waitUntil(() => issued > 0);
    await using patient = await openAwsKmsSigner({ key: key.arn, endpoint });
    await expect(patient.sign(DIGEST)).resolves.toHaveLength(64);
    await expect(signWith(createKeySet([{ signer }]).active, DIGEST)).resolves.toHaveLength(64);
  });

  test("says that the file of a web identity's token is missing", async () => {
    delete process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
    process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/nonexistent/token";
    process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
    await expect(openAwsKmsSigner({ key: key.arn, endpoint })).rejects.toMatchObject({
      code: "access_denied",
      transient: false,
      message: `kms:GetPublicKey of ${key.arn} in eu-west-1 failed: could not get credentials: the file /nonexistent/token cannot be read: ENOENT`,
    });
  });

  test("gets them once for calls that fail together", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    fake.acceptOnly(["AKIA2"]);
    const signatures = await Promise.all(Array.from({ length: 12 }, () => signer.sign(DIGEST)));
    expect(signatures).toHaveLength(12);
    expect(issued).toBe(2);
  });

  test("does not hammer the provider where the new ones are refused as well", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    fake.acceptOnly([]);
    for (let call = 0; call < 5; call += 1) {
      await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "access_denied", transient: false });
    }
    expect(issued).toBe(2);
  });

  const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
  const policy = { attemptTimeoutMs: 800, deadlineMs: 6000, maxAttempts: 3 };

  test("asks a new provider after a request that hangs, within the same call", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy });
    hangNext = 1;
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(usedKeys()).toEqual(["AKIA1", "AKIA1"]);
  });

  test("asks a new provider with the next call, where a call had one attempt", async () => {
    const options = { key: key.arn, endpoint, publicKey, policy: { ...policy, maxAttempts: 1 } };
    await using signer = await openAwsKmsSigner(options);
    hangNext = 1;
    const code = "timeout";
    const { origin } = new URL(process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] ?? "");
    const late = `no credentials within 720 ms: their source, ${origin}, did not answer`;
    const message = `kms:Sign of ${key.arn} in eu-west-1 failed: ${late}`;
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code, message });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("does not wait for a renewal that hangs", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy });
    await signer.sign(DIGEST);
    fake.acceptOnly(["AKIA2"]);
    hangNext = 1;
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("takes the answer of a slow provider, though a new one was asked meanwhile", async () => {
    let answer = (): void => undefined;
    held = new Promise((resolve) => (answer = resolve));
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy });
    const signing = signer.sign(DIGEST);
    setTimeout(answer, 450);
    await expect(signing).resolves.toHaveLength(64);
  });

  test("gets new ones as often as they are rotated, however fast", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, policy: { maxAttempts: 1 } });
    for (const rotation of [2, 3, 4]) {
      fake.acceptOnly([`AKIA${rotation}`]);
      await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    }
    expect(issued).toBe(4);
  });

  test("says when new credentials were last requested, if they were refused too", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    fake.acceptOnly([]);
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "access_denied" });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code: "access_denied",
      message: expect.stringMatching(/\(new ones were requested \d+ ms ago, .*\) \(ExpiredTokenException\)$/),
      cause: { name: "ExpiredTokenException" },
    });
  });

  test("says that there are none, and shows none", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    fake.acceptOnly([]);
    const refused = await signer.sign(DIGEST).catch((error: unknown) => error);
    expect(inspect(refused, { depth: Infinity, showHidden: true })).not.toMatch(/secret-|token-/);

    delete process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
    const opening = openAwsKmsSigner({ key: key.arn, endpoint });
    await expect(opening).rejects.toMatchObject({
      code: "access_denied",
      message: `kms:GetPublicKey of ${key.arn} in eu-west-1 failed: could not get credentials (CredentialsProviderError)`,
    });
  });
});

describe("a clock that is an hour slow", () => {
  test("is corrected by the answer that refuses the request, inside the same attempt", async () => {
    const HOUR_MS = 3_600_000;
    const dates: unknown[] = [];
    const server = createServer((request, response) => {
      const date = String(request.headers["x-amz-date"]);
      const [, year, month, day, hour, minute, second] = /^(....)(..)(..)T(..)(..)(..)Z$/.exec(date) ?? [];
      const signedAt = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
      const inTime = Math.abs(signedAt - (Date.now() + HOUR_MS)) < 300_000;
      dates.push(inTime);
      response.setHeader("date", new Date(Date.now() + HOUR_MS).toUTCString());
      response.setHeader("content-type", "application/x-amz-json-1.1");
      response.statusCode = inTime ? 200 : 400;
      const signature = key.sign(DIGEST);
      response.end(
        JSON.stringify(
          inTime
            ? { KeyId: key.arn, Signature: Buffer.from(signature).toString("base64") }
            : { __type: "InvalidSignatureException", message: "Signature expired: is now earlier than" },
        ),
      );
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const address = server.address() as AddressInfo;
    await using signer = await openAwsKmsSigner({
      key: key.arn,
      endpoint: `http://127.0.0.1:${address.port}`,
      publicKey: key.publicKey?.export({ format: "jwk" }) ?? {},
      policy: { maxAttempts: 1 },
    });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(dates).toEqual([false, true, true]);
    server.close();
  });
});

describe("a request to a source that never answers", () => {
  const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
  const policy = { attemptTimeoutMs: 800, deadlineMs: 20_000, maxAttempts: 20 };

  test("is dropped once another one has been answered", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy });
    hangNext = 1;
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    await vi.waitFor(() => expect(unanswered.size).toBe(0));
  });

  test("is dropped when the signer closes", async () => {
    const signer = await openAwsKmsSigner({ key: key.arn, endpoint, publicKey, policy });
    hangNext = Number.POSITIVE_INFINITY;
    const caller = new AbortController();
    const signing = signer.sign(DIGEST, { signal: caller.signal });
    await vi.waitUntil(() => unanswered.size > 0, { timeout: 20_000 });
    caller.abort();
    await expect(signing).rejects.toMatchObject({ code: "aborted" });
    await signer.close();
    await vi.waitFor(() => expect(unanswered.size).toBe(0));
  });
});

describe("a client of the caller's", () => {
  test("keeps its credentials to itself", async () => {
    await using signer = await openAwsKmsSigner({ key: key.arn, client: clientOf(fake) });
    fake.acceptOnly(["AKIA2"]);
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "access_denied" });
    expect(usedKeys()).toEqual([fake.credentials.accessKeyId, fake.credentials.accessKeyId]);
  });
});

describe("renewing", () => {
  const expired = Object.assign(new Error("expired"), { name: "ExpiredTokenException" });
  const input = { KeyId: "x" };

  test("stops where the caller has given up meanwhile", async () => {
    let calls = 0;
    const controller = new AbortController();
    const api: AwsKmsApi = {
      getPublicKey: async () => {
        calls += 1;
        throw expired;
      },
      sign: async () => ({}),
    };
    const renewing = withRenewedCredentials(api, async () => controller.abort());
    await expect(renewing.getPublicKey(input, { signal: controller.signal })).rejects.toBe(expired);
    expect(calls).toBe(1);
  });

  test.each([
    ["the wall clock, after a function was frozen", 0, 5000],
    ["the monotonic clock, where the other was set back", 5000, -3_600_000],
  ])("renews again after 5 s by %s", async (_name, monotonicMs, wallMs) => {
    let renewals = 0;
    const api: AwsKmsApi = { getPublicKey: () => Promise.reject(expired), sign: async () => ({}) };
    const renewing = withRenewedCredentials(api, async () => void (renewals += 1));
    const moved = { monotonic: 0, wall: 0 };
    const monotonic = performance.now.bind(performance);
    const wall = Date.now.bind(Date);
    vi.spyOn(performance, "now").mockImplementation(() => monotonic() + moved.monotonic);
    vi.spyOn(Date, "now").mockImplementation(() => wall() + moved.wall);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(renewing.getPublicKey(input, {})).rejects.toBe(expired);
    await expect(renewing.getPublicKey(input, {})).rejects.toThrow(/ms ago/);
    expect(renewals).toBe(1);
    Object.assign(moved, { monotonic: monotonicMs, wall: wallMs });
    await expect(renewing.getPublicKey(input, {})).rejects.toBe(expired);
    expect(renewals).toBe(2);
  });

  test("leaves every other failure alone", async () => {
    let renewals = 0;
    const denied = Object.assign(new Error("denied"), { name: "AccessDeniedException" });
    const api: AwsKmsApi = { getPublicKey: () => Promise.reject(denied), sign: async () => ({}) };
    const renewing = withRenewedCredentials(api, async () => void (renewals += 1));
    await expect(renewing.getPublicKey(input, {})).rejects.toBe(denied);
    expect(renewals).toBe(0);
  });
});
