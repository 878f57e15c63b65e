import { describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  createJwksEndpoint,
  createKeySet,
  type JwksEndpointOptions,
  type KeySet,
} from "@signpost/core";
import { bundleOf, type Issued, leaf, root } from "../support/certificates.ts";
import { newP256Jwk, publishingSigner, setOf, thrownBy } from "../support/key-fixtures.ts";

const DAY = 86_400_000;
const CA = root({ until: 1000 });
const LEAF = leaf(CA, { until: 100 });
const NOW = Date.now();

function setWith(...certificates: readonly Issued[]): KeySet {
  return createKeySet(
    certificates.map((one, index) => ({
      keyId: `k${index}`,
      signer: publishingSigner(one.jwk),
      certificates: { chain: bundleOf(one, CA) },
    })),
  );
}

function endpointOf(keys: JwksEndpointOptions["keys"], options: Partial<JwksEndpointOptions> = {}) {
  const time = { days: 0 };
  const onError = vi.fn<(error: unknown) => void>();
  const endpoint = createJwksEndpoint({
    issuer: "https://op.example",
    keys,
    onError,
    now: () => NOW + time.days * DAY,
    ...options,
  });
  const getAt = (days: number) => {
    time.days = days;
    return endpoint.respond("GET");
  };
  const told = (): string[] => onError.mock.calls.map(([error]) => (error as ConfigurationError).code);
  return { getAt, told, onError };
}

describe("the endpoint tells onError", () => {
  test("once when a certificate expires soon, and once when it has expired", () => {
    const { getAt, told, onError } = endpointOf(setWith(LEAF));
    for (const days of [0, 69, 69.9]) getAt(days);
    expect(told()).toEqual([]);
    for (const days of [70.1, 75, 99.9]) getAt(days);
    expect(told()).toEqual(["certificate_expires_soon"]);
    for (const days of [100.1, 200, 300]) getAt(days);
    expect(told()).toEqual(["certificate_expires_soon", "certificate_expired"]);
    expect(onError.mock.calls[0]?.[0]).toBeInstanceOf(ConfigurationError);
    expect(String(onError.mock.calls[0]?.[0])).toMatch(
      /keys: kid "k0": certificate 1 of 2 expires at \d{4}-.*renew it/,
    );
    expect(String(onError.mock.calls[1]?.[0])).toMatch(/certificate 1 of 2 expired at/);
  });

  test("only of the expiry if no request came before", () => {
    const { getAt, told } = endpointOf(setWith(LEAF));
    getAt(101);
    getAt(102);
    expect(told()).toEqual(["certificate_expired"]);
  });

  test("nothing again if the clock goes back", () => {
    const { getAt, told } = endpointOf(setWith(LEAF));
    for (const days of [101, 80, 101, 10, 80]) getAt(days);
    expect(told()).toEqual(["certificate_expired"]);
  });

  test("of the issuer if that expires first", () => {
    const issuer = root({ name: "Short", issuer: CA, until: 50 });
    const own = leaf(issuer, { until: 100 });
    const keys = createKeySet([{ signer: publishingSigner(own.jwk), certificates: { chain: bundleOf(own, issuer) } }]);
    const { getAt, onError } = endpointOf(keys);
    getAt(30);
    expect(String(onError.mock.calls[0]?.[0])).toContain("certificate 2 of 2 expires at");
  });

  test("of each key", () => {
    const { getAt, onError } = endpointOf(setWith(LEAF, leaf(CA, { until: 95 }), leaf(CA, { until: 300 })));
    getAt(80);
    expect(onError.mock.calls.map(([error]) => /kid "(k\d)"/.exec(String(error))?.[1])).toEqual(["k0", "k1"]);
  });

  test("of a new chain again, and not of the same chain in a new set", () => {
    let set = setWith(LEAF);
    const { getAt, told } = endpointOf(() => set);
    getAt(80);
    set = setWith(LEAF);
    getAt(81);
    expect(told()).toHaveLength(1);
    set = setWith(leaf(CA, { ...LEAF.plan, until: 130 }));
    getAt(82);
    expect(told()).toHaveLength(1);
    getAt(101);
    expect(told()).toHaveLength(2);
  });

  test("by itself, without changing the response", () => {
    const { getAt } = endpointOf(setWith(LEAF), {
      onError: () => {
        throw new Error("a bug of the caller");
      },
    });
    const responses = [0, 80, 101, 5000].map(getAt);
    expect(
      new Set(responses.map(({ status, headers }) => `${status} ${headers["ETag"]} ${headers["Cache-Control"]}`)).size,
    ).toBe(1);
  });

  test("whatever the method and the precondition", () => {
    const { getAt, told } = endpointOf(setWith(LEAF));
    const etag = getAt(0).headers["ETag"];
    expect(told()).toEqual([]);
    const head = endpointOf(setWith(LEAF), { now: () => NOW + 80 * DAY });
    expect(etag).toMatch(/^"/);
    head.getAt(0);
    expect(head.told()).toEqual(["certificate_expires_soon"]);
  });

  test("nothing while the clock fails, and the request gets its answer", () => {
    let fails = false;
    const now = (): number => {
      if (fails) throw new Error("no clock");
      return NOW;
    };
    const { getAt, told } = endpointOf(setWith(LEAF), { now });
    fails = true;
    expect(getAt(0).status).toBe(200);
    expect(told()).toEqual([]);
  });
});

test("two endpoints tell independently", () => {
  const set = setWith(LEAF);
  const [one, other] = [endpointOf(set), endpointOf(set)];
  one.getAt(80);
  other.getAt(80);
  expect([one.told(), other.told()]).toEqual([["certificate_expires_soon"], ["certificate_expires_soon"]]);
});

test("the clock is not read for keys without certificates", () => {
  const now = vi.fn<() => number>(() => NOW);
  const { getAt } = endpointOf(setOf("k"), { now });
  now.mockClear();
  getAt(0);
  expect(now).not.toHaveBeenCalled();
});

describe("certificateNoticeDays", () => {
  test.each([
    [0, 99.9, 0],
    [0, 100.1, 1],
    [10, 89, 0],
    [10, 91, 1],
    [365, 0, 1],
  ])("%d days, after %d days: %d reports", (certificateNoticeDays, days, reports) => {
    const { getAt, told } = endpointOf(setWith(LEAF), { certificateNoticeDays });
    getAt(days);
    expect(told()).toHaveLength(reports);
  });

  test.each([-1, 366, Number.NaN, "30"])("refuses %s", (certificateNoticeDays) => {
    const options = { certificateNoticeDays } as Partial<JwksEndpointOptions>;
    expect((thrownBy(() => endpointOf(setOf("k"), options)) as Error).message).toMatch(
      /^certificateNoticeDays: expected a number from 0 to 365/,
    );
  });
});

test("an endpoint with a list of entries reads them by its clock", () => {
  const keys = [{ keyId: "k", signer: publishingSigner(LEAF.jwk), certificates: { chain: LEAF.pem } }];
  expect(() => endpointOf(keys, { now: () => NOW + 101 * DAY })).toThrow(
    /^keys\[0\]\.certificates: kid "k": .*expired/,
  );
  expect(endpointOf([{ keyId: "k", signer: publishingSigner(newP256Jwk()) }], { now: () => NOW }).getAt(0).status).toBe(
    200,
  );
});
