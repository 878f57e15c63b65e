import { expect, it } from "vitest";
import { remoteSettings } from "../../src/remote/options.ts";
import { readMaxKeys } from "../../src/jwk/parse-jwks.ts";

// What a set does without options: the values that the documentation states.

const DEFAULTS = {
  fetch: undefined,
  dispatcher: undefined,
  publicAddressesOnly: false,
  allowInsecureLoopback: false,
  timeoutMs: 5000,
  maxBodyBytes: 65_536,
  maxKeys: 64,
  contentTypes: ["application/jwk-set+json", "application/json"],
  defaultMaxAgeSeconds: 300,
  maxAgeCapSeconds: 86_400,
  minRevalidateIntervalMs: 10_000,
  staleWhileRevalidate: true,
  staleIfErrorSeconds: 0,
  revalidateWith: "get",
  forcedRefetchIntervalMs: 20_000,
  forcedRefetchBurst: 1,
  failureMemoryMs: 5000,
  allowMissingKid: false,
};

it("no options, and options without a value, are the documented defaults", () => {
  const absent = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, undefined]));
  for (const options of [{}, absent]) {
    const { hosts: _hosts, instant: _instant, ...settings } = remoteSettings(options);
    expect(settings).toEqual(DEFAULTS);
  }
  expect(readMaxKeys(undefined)).toBe(64);
});

it("each option replaces its default alone", () => {
  const others: Record<string, unknown> = {
    publicAddressesOnly: true,
    allowInsecureLoopback: true,
    timeoutMs: 60_000,
    maxBodyBytes: 7,
    maxKeys: 65,
    contentTypes: "any",
    defaultMaxAgeSeconds: 0.5,
    maxAgeCapSeconds: 0,
    minRevalidateIntervalMs: 0,
    staleWhileRevalidate: false,
    staleIfErrorSeconds: 0.5,
    revalidateWith: "head",
    forcedRefetchIntervalMs: 0,
    forcedRefetchBurst: 1000,
    failureMemoryMs: 0,
    allowMissingKid: true,
  };
  for (const [name, value] of Object.entries(others)) {
    const { hosts: _hosts, instant: _instant, ...settings } = remoteSettings({ [name]: value });
    expect(settings).toEqual({ ...DEFAULTS, [name]: value });
  }
});

it("sets share what is known about hosts if they share connections and clocks", () => {
  const [clock, fetch] = [() => 1, async () => new Response()];
  expect(remoteSettings({}).hosts).toBe(remoteSettings({}).hosts);
  expect(remoteSettings({ fetch }).hosts).toBe(remoteSettings({ fetch }).hosts);
  expect(remoteSettings({ fetch }).hosts).not.toBe(remoteSettings({}).hosts);
  for (const own of [{ clock }, { now: clock }, { publicAddressesOnly: true }])
    expect(remoteSettings(own).hosts).not.toBe(remoteSettings(own).hosts);
});
