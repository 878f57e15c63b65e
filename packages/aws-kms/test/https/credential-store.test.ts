import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createCredentialStore, type AwsKmsCredentials } from "../../src/https/credential-store.ts";

const HOUR_MS = 3_600_000;
let issued = 0;
let answer: () => Promise<unknown>;
const asked: unknown[] = [];

function issue(lifeMs?: number): AwsKmsCredentials {
  issued += 1;
  return {
    accessKeyId: `AKIA${issued}`,
    secretAccessKey: "secret",
    ...(lifeMs !== undefined && { expiration: new Date(Date.now() + lifeMs) }),
  };
}

function open() {
  return createCredentialStore((options) => {
    asked.push(options);
    return answer();
  });
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  issued = 0;
  asked.length = 0;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-06-01") });
});
afterEach(() => vi.useRealTimers());

describe("credentials", () => {
  test("are asked for once by requests at the same time", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    const all = await Promise.all([store.get(), store.get(), store.get()]);
    expect(all.map(({ accessKeyId }) => accessKeyId)).toEqual(["AKIA1", "AKIA1", "AKIA1"]);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
    expect(asked).toEqual([undefined]);
  });

  test("without an expiration are kept", async () => {
    answer = async () => issue();
    const store = open();
    await store.get();
    vi.setSystemTime(Date.now() + 1000 * HOUR_MS);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
  });

  test("are renewed five minutes before they expire, while requests go on with them", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    await store.get();
    vi.setSystemTime(Date.now() + HOUR_MS - 300_001);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
    await settled();
    expect(issued).toBe(1);
    vi.setSystemTime(Date.now() + 1);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
    await settled();
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA2" });
  });

  test("stay in use while their source is down, which is asked once every five seconds", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    await store.get();
    answer = async () => Promise.reject(new Error("down"));
    vi.setSystemTime(Date.now() + HOUR_MS - 60_000);
    for (let request = 0; request < 10; request += 1) {
      expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
      await settled();
    }
    expect(asked).toHaveLength(2);
    vi.setSystemTime(Date.now() + 4999);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
    await settled();
    expect(asked).toHaveLength(2);
    vi.setSystemTime(Date.now() + 1);
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
    await settled();
    expect(asked).toHaveLength(3);
  });

  test("that have expired are used by no request", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    await store.get();
    answer = async () => Promise.reject(new Error("down"));
    vi.setSystemTime(Date.now() + HOUR_MS);
    await expect(store.get()).rejects.toThrow("down");
    answer = async () => issue(HOUR_MS);
    await expect(store.get()).resolves.toMatchObject({ accessKeyId: "AKIA2" });
  });

  test("that seem to have expired already are used, since this machine's clock may be wrong", async () => {
    answer = async () => issue(-HOUR_MS);
    await expect(open().get()).resolves.toMatchObject({ accessKeyId: "AKIA1" });
  });

  test("are replaced after a refusal, by a question that asks for newer ones", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    await store.get();
    await store.renew();
    expect(store.get()).toMatchObject({ accessKeyId: "AKIA2" });
    expect(asked).toEqual([undefined, { forceRefresh: true }]);
  });

  test("are asked for again after a refusal, even if a question is under way", async () => {
    answer = async () => issue(HOUR_MS);
    const store = open();
    const first = store.get();
    await store.renew();
    await first;
    expect(asked).toEqual([undefined, { forceRefresh: true }]);
  });
});

test.each<[string, object]>([
  ["an empty token", { sessionToken: "" }],
  ["null for what it lacks", { sessionToken: null, expiration: null }],
])("lasting credentials may have %s", async (_what, others) => {
  answer = async () => ({ ...issue(), ...others });
  const store = open();
  await expect(store.get()).resolves.toEqual({ accessKeyId: "AKIA1", secretAccessKey: "secret" });
  vi.setSystemTime(Date.now() + 1000 * HOUR_MS);
  expect(store.get()).toMatchObject({ accessKeyId: "AKIA1" });
});

describe("a source that returns something else", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["text", "AKIA"],
    ["no secret", { accessKeyId: "AKIA" }],
    ["an empty secret", { accessKeyId: "AKIA", secretAccessKey: "" }],
    ["a number as its key id", { accessKeyId: 7, secretAccessKey: "secret" }],
    ["a token that is not text", { accessKeyId: "AKIA", secretAccessKey: "secret", sessionToken: {} }],
    ["an expiration that is no date", { accessKeyId: "AKIA", secretAccessKey: "secret", expiration: "soon" }],
  ])("is refused: %s", async (_what, identity) => {
    answer = async () => identity;
    await expect(open().get()).rejects.toMatchObject({
      name: "CredentialsError",
      row: { code: "access_denied", text: expect.stringContaining("could not get credentials: expected") },
    });
  });
});
