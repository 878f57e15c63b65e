import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createKeySet, openSigner, SignerError, signWith } from "@signpost/core";
import { awsKms, openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import type { Fault } from "@signpost/test-backends/faults";
import { clientOf, provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey();
const publicJwk = key.publicKey?.export({ format: "jwk" }) ?? {};
const DIGEST = randomBytes(32);
fake.pointAlias("alias/Op/2026", key);

beforeAll(() => provideCredentials(fake.credentials));
afterEach(() => fake.reset());
afterAll(() => fake.stop());

describe("our own client", () => {
  const policy = { deadlineMs: 300, attemptTimeoutMs: 300 };
  const connectionsAreGone = () => expect.poll(() => fake.sockets.open, { timeout: 10_000 }).toBe(0);

  test("leaves no connection behind when its signer is closed", async () => {
    const signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint });
    await Promise.all(Array.from({ length: 8 }, () => signer.sign(DIGEST)));
    expect(fake.sockets.open).toBe(8);
    await signer.close();
    await connectionsAreGone();
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "closed" });
  });

  test.each<[string, Fault, () => object]>([
    ["is refused", "key-not-found", () => ({})],
    ["is out of time", "hang", () => ({ openDeadlineMs: 200 })],
    ["is given up", "hang", () => ({ signal: AbortSignal.timeout(200) })],
  ])("leaves none behind when its opening %s", async (_what, fault, options) => {
    fake.faults.on(fault);
    await expect(openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, ...options() })).rejects.toBeInstanceOf(
      SignerError,
    );
    await connectionsAreGone();
  });

  test.each<Fault>(["hang", "hang-after-headers", "slow"])("cuts the connection of a call that %s", async (fault) => {
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
    fake.faults.on(fault);
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "timeout" });
    await connectionsAreGone();
  });

  test("cuts the connection of the call that its caller aborts, long before any timeout, and no other", async () => {
    const patient = { deadlineMs: 60_000, attemptTimeoutMs: 60_000 };
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: patient });
    fake.faults.next("hang", 1, "Sign");
    const caller = new AbortController();
    const aborted = signer.sign(DIGEST, { signal: caller.signal });
    await expect.poll(() => fake.requests.at(-1)?.operation).toBe("Sign");
    const others = Array.from({ length: 4 }, () => signer.sign(DIGEST));
    caller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    await expect(Promise.all(others)).resolves.toHaveLength(4);
    await expect.poll(() => fake.sockets.open, { timeout: 10_000 }).toBe(4);
  });
});

describe("what the environment says of the SDK's own retries and defaults", () => {
  afterEach(() => {
    delete process.env["AWS_RETRY_MODE"];
    delete process.env["AWS_DEFAULTS_MODE"];
  });

  test("does not make calls wait after a refusal", async () => {
    process.env["AWS_RETRY_MODE"] = "adaptive";
    const policy = { deadlineMs: 3000, maxAttempts: 4 };
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
    fake.faults.next("throttle", 3);
    for (let call = 0; call < 8; call += 1) await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("does not end the process", async () => {
    process.env["AWS_DEFAULTS_MODE"] = "made-up";
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });
});

test("the longest time of a policy fits each timer of our own client", async () => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const longest = 2_147_483_647;
  const policy = { deadlineMs: longest, attemptTimeoutMs: longest };
  await using signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
  await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  expect(warn).not.toHaveBeenCalledWith(expect.anything(), "TimeoutOverflowWarning");
  warn.mockRestore();
});

describe("a client of the caller's", () => {
  test("is used as it is, and left open", async () => {
    const client = clientOf(fake, { region: "eu-south-1" });
    const signer = await openAwsKmsSigner({ key: key.arn, client });
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
    await signer.close();
    await using second = await openAwsKmsSigner({ key: key.arn, client });
    await expect(second.sign(DIGEST)).resolves.toHaveLength(64);
    expect(fake.requests.map((request) => request.region)).toEqual(["eu-south-1", "eu-south-1", "eu-south-1"]);
    client.destroy();
  });

  test("of another version of the SDK is refused before anything is sent", async () => {
    const stack = {
      concat: () => {
        throw new Error("serializerMiddleware is not found");
      },
    };
    const client = { send: async () => ({}), middlewareStack: stack, config: {} };
    const opening = openAwsKmsSigner({ key: key.arn, client, publicKey: publicJwk });
    await expect(opening).rejects.toMatchObject({
      argument: "client",
      message: expect.stringContaining("from the copy of @aws-sdk"),
    });
  });

  test("may be anything that sends the SDK's commands", async () => {
    const client = clientOf(fake);
    const sent: string[] = [];
    const recording = {
      send: (command: object, options?: object) => {
        sent.push(command.constructor.name);
        return client.send(command as never, options);
      },
    };
    await using signer = await openAwsKmsSigner({ key: key.arn, client: recording });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(sent).toEqual(["GetPublicKeyCommand", "SignCommand"]);
  });

  test("serves every URI of an adapter", async () => {
    const adapter = awsKms({ client: clientOf(fake) });
    await using signer = await openSigner("awskms:///alias/Op/2026", [adapter]);
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
  });
});

describe("another transport", () => {
  test("is asked the two calls in the service's words, and needs no SDK", async () => {
    const asked: unknown[] = [];
    const api = {
      getPublicKey: async (input: object) => {
        asked.push(input);
        return {
          KeyId: key.arn,
          PublicKey: key.publicKey?.export({ format: "der", type: "spki" }),
          KeySpec: "ECC_NIST_P256",
          KeyUsage: "SIGN_VERIFY",
          SigningAlgorithms: ["ECDSA_SHA_256"],
        };
      },
      sign: async (input: { readonly Message: Uint8Array }) => {
        asked.push(input);
        return { KeyId: key.arn, Signature: key.sign(input.Message), SigningAlgorithm: "ECDSA_SHA_256" };
      },
    };
    await using signer = await openAwsKmsSigner({ key: "alias/x", api });
    await signWith(createKeySet([{ signer }]).active, DIGEST);
    expect(asked).toEqual([
      { KeyId: "alias/x" },
      {
        KeyId: key.arn,
        Message: expect.any(Uint8Array),
        MessageType: "DIGEST",
        SigningAlgorithm: "ECDSA_SHA_256",
      },
    ]);
  });

  test("that never settles is left behind soon after the signal", async () => {
    const api = { getPublicKey: () => new Promise<never>(() => {}), sign: () => new Promise<never>(() => {}) };
    const signer = await openAwsKmsSigner({ key: key.arn, api, publicKey: publicJwk, policy: false });
    const controller = new AbortController();
    const signing = signer.sign(DIGEST, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(signing).rejects.toMatchObject({ code: "aborted" });
  });
});
