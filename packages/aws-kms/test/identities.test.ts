import * as sdk from "@aws-sdk/client-kms";
import type { KMSClientConfig } from "@aws-sdk/client-kms";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openOwnClient } from "../src/own-client.ts";
import { isMetadataKnown } from "../src/credential-requests.ts";
import { sentSecretsOf } from "../src/sent-secrets.ts";
import type { Settings } from "../src/settings.ts";
import { provideCredentials } from "./environment.ts";

const SETTINGS: Settings = {
  region: "eu-west-1",
  endpoint: undefined,
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
  allowInsecureEndpoint: false,
  notes: [],
};

type Init = Record<string, unknown>;
/** What the SDK's provider is made with, and what it gives. */
const state = { inits: [] as Init[], give: async (_options: unknown): Promise<object> => ({}) };

/** The SDK, whose default credentials come from here, and whose requests are answered here. */
class Client extends sdk.KMSClient {
  constructor(given: KMSClientConfig) {
    super(given);
    if (given.credentialDefaultProvider !== undefined) return;
    const provider = (init: Init) => {
      state.inits.push(init);
      return (options: unknown) => state.give(options);
    };
    Object.assign(this.config, { credentialDefaultProvider: provider });
  }
}
/** The answers of KMS, by the session token of the request. */
let answer = (_token: string): object => new Error("not of this test");
class AnsweringClient extends Client {
  constructor(given: KMSClientConfig) {
    super(given);
    this.config.requestHandler.handle = async (request) =>
      Promise.reject(answer(String(Reflect.get(request, "headers")["x-amz-security-token"])));
  }
}

function open() {
  const plan = { policy: false as const, pinned: undefined, bounds: { deadlineMs: 5000, attemptTimeoutMs: 2000 } };
  return openOwnClient(
    { ...sdk, KMSClient: AnsweringClient },
    SETTINGS,
    plan as unknown as Parameters<typeof openOwnClient>[2],
  );
}
/** The SDK keeps credentials that expire until then. */
const identity = (number: number): object => ({
  accessKeyId: "A",
  secretAccessKey: "b",
  sessionToken: `token-${number}`,
  expiration: new Date(Date.now() + 3_600_000),
});
const refusal = (): Error =>
  Object.assign(new Error("denied"), { name: "AccessDeniedException", $metadata: { httpStatusCode: 400 } });
const rejection = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

beforeEach(() => {
  provideCredentials(undefined);
  state.inits.length = 0;
  state.give = async () => identity(1);
  answer = refusal;
});

describe("the SDK's provider is asked", () => {
  test("without retries, through the client's own handler, and with the files as they are", async () => {
    const { api, close } = open();
    await rejection(api.getPublicKey({ KeyId: "k" }, {}));
    expect(state.inits).toHaveLength(1);
    const [init] = state.inits;
    expect(init).toMatchObject({ maxRetries: 0, ignoreCache: false });
    expect(Object.keys(Object(init?.["clientConfig"]))).toEqual(["requestHandler"]);
    expect(Reflect.get(Object(init?.["clientConfig"]), "requestHandler")).toMatchObject({
      handle: expect.any(Function) as unknown,
    });
    await close();
  });

  test("and tells in its log alone of a profile that names the metadata service", async () => {
    const { api, close } = open();
    await rejection(api.getPublicKey({ KeyId: "k" }, {}));
    const { debug } = Object(state.inits[0]?.["logger"]) as { debug(message: unknown): void };
    debug("credential_source is EcsContainer");
    debug(undefined);
    expect(isMetadataKnown()).toBe(false);
    debug("@aws-sdk/credential-provider-ini - credential_source is Ec2InstanceMetadata");
    expect(isMetadataKnown()).toBe(true);
    await close();
  });
});

test("an error hides the last two session tokens that were found", async () => {
  const { api, close } = open();
  const ask = async (): Promise<unknown> => sentSecretsOf(await rejection(api.getPublicKey({ KeyId: "k" }, {})));
  let current = 1;
  state.give = async () => identity(current);
  expect(await ask()).toEqual(["token-1"]);
  expect(await ask()).toEqual(["token-1"]);
  // Refused credentials are renewed. They are refused again.
  answer = () => Object.assign(refusal(), { name: "ExpiredTokenException" });
  current = 2;
  expect(await ask()).toEqual(["token-2", "token-1"]);
  vi.useFakeTimers({ toFake: ["performance", "Date"], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  await vi.advanceTimersByTimeAsync(10_000);
  current = 3;
  expect(await ask()).toEqual(["token-3", "token-2"]);
  await close();
});

test("a call after the end of its client finds no credentials", async () => {
  const give = vi.fn<() => Promise<object>>(async () => identity(1));
  state.give = give;
  const { api, close } = open();
  await close();
  expect(await rejection(api.getPublicKey({ KeyId: "k" }, {}))).toMatchObject({
    name: "CredentialsError",
    message: "no credentials: the client is closed",
  });
  expect(give).not.toHaveBeenCalled();
});
