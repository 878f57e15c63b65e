import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { beforeEach, expect, test, vi } from "vitest";
import { lookupWith, PrivateHostError, privateAddressesOf, publicLookup } from "../src/network/private-host.ts";

type Answer = (error: NodeJS.ErrnoException | null, addresses?: LookupAddress[]) => void;
type Lookup = (host: string, options: LookupAllOptions, answer: Answer) => void;

vi.mock("node:dns", async (original) => ({
  ...(await original<typeof import("node:dns")>()),
  lookup: vi.fn<Lookup>(),
}));

/** What the resolver of the system answers. */
let resolved: { readonly error: NodeJS.ErrnoException | null; readonly addresses?: LookupAddress[] };
const asked = vi.mocked(systemLookup as unknown as Lookup);
beforeEach(() => {
  asked.mockReset().mockImplementation((_host, _options, answer) => answer(resolved.error, resolved.addresses));
});

const PUBLIC: LookupAddress[] = [
  { address: "8.8.8.8", family: 4 },
  { address: "2606:4700::1111", family: 6 },
];
const NOT_FOUND = Object.assign(new Error("not found"), { code: "ENOTFOUND" });

/** The arguments of the callback. */
function lookUp(options: { readonly all?: boolean; readonly family?: number }): unknown[] {
  const callback = vi.fn<(...args: unknown[]) => void>();
  publicLookup("op.example", options, callback);
  expect(callback).toHaveBeenCalledTimes(1);
  return callback.mock.calls[0] ?? [];
}

test("a host on the Internet has its addresses, or the first one where one is asked for", () => {
  resolved = { error: null, addresses: PUBLIC };
  expect(lookUp({ all: true })).toEqual([null, PUBLIC]);
  expect(lookUp({})).toEqual([null, "8.8.8.8", 4]);
});

test.each([true, false])("a host with one private address has none. All are asked for: %s", (all) => {
  resolved = { error: null, addresses: [...PUBLIC, { address: "10.0.0.1", family: 4 }] };
  const [error, addresses] = lookUp({ all });
  expect(error).toBeInstanceOf(PrivateHostError);
  expect(addresses).toEqual([]);
});

test.each([true, false])("a host that is not found fails with the reason. All are asked for: %s", (all) => {
  resolved = { error: NOT_FOUND };
  expect(lookUp({ all })).toEqual([NOT_FOUND, []]);
});

test("all addresses are looked at, of the kind that is asked for", () => {
  resolved = { error: null, addresses: PUBLIC };
  lookUp({ family: 4, all: false });
  expect(asked).toHaveBeenCalledWith("op.example", { family: 4, all: true }, expect.any(Function));
});

test("the private addresses of a host are told with their family, and no others", async () => {
  const found = ["10.0.0.1", "8.8.8.8", "::1"].map((address) => ({ address }));
  const resolveHost = vi.fn<() => Promise<typeof found>>().mockResolvedValue(found);
  expect(await privateAddressesOf(new URL("https://op.example:8443/a"), resolveHost)).toEqual([
    { address: "10.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  expect(resolveHost).toHaveBeenCalledWith("op.example");
});

test("a host that is not found has no private addresses, and an IPv6 address is asked for without brackets", async () => {
  const resolveHost = vi.fn<() => Promise<never>>().mockRejectedValue(NOT_FOUND);
  expect(await privateAddressesOf(new URL("https://[fd00::1]/"), resolveHost)).toEqual([]);
  expect(resolveHost).toHaveBeenCalledWith("fd00::1");
});

test("the addresses that were found before are those of their host alone", () => {
  const known: LookupAddress[] = [{ address: "10.0.0.1", family: 4 }];
  resolved = { error: null, addresses: PUBLIC };
  const lookup = lookupWith("op.example", known);
  const callback = vi.fn<(error: Error | null, addresses: unknown) => void>();
  lookup("op.example", { all: true }, callback);
  expect(callback).toHaveBeenLastCalledWith(null, known);
  expect(callback.mock.lastCall?.[1]).not.toBe(known);
  lookup("other.example", { all: true }, callback);
  expect(callback).toHaveBeenLastCalledWith(null, PUBLIC);
  expect(asked).toHaveBeenCalledTimes(1);
});
