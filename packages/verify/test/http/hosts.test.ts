import { expect, it } from "vitest";
import { createHosts, hostsBehind } from "../../src/http/hosts.ts";
import { fakeClock } from "../support/remote.ts";

// When the hosts behind a set of connections last answered.

function created() {
  const clock = fakeClock();
  const hosts = createHosts(() => ({ monotonic: clock(), wall: clock.now() }));
  return { hosts, clock };
}

it("a host may have dropped its connections if the process was frozen since it answered", () => {
  const { hosts, clock } = created();
  const host = hosts.of("https://a.example");
  clock.moveWallSeconds(3600);
  expect(host.mayBeDead()).toBe(false);
  host.answered();
  expect(host.mayBeDead()).toBe(false);
  clock.moveWallSeconds(3600);
  expect(host.mayBeDead()).toBe(true);
});

it("also shortly after it, until the timers have closed the connections that were not used", () => {
  const { hosts, clock } = created();
  const host = hosts.of("https://a.example");
  host.answered();
  clock.moveWallSeconds(3600);
  host.answered();
  clock.advanceSeconds(4.9);
  host.answered();
  expect(host.mayBeDead()).toBe(true);
  clock.advanceSeconds(0.1);
  expect(host.mayBeDead()).toBe(false);
});

it("the last 1000 hosts are known, in the order of their use", () => {
  const { hosts } = created();
  const first = hosts.of("0");
  for (let index = 1; index < 1000; index += 1) hosts.of(String(index));
  expect(hosts.of("0")).toBe(first);
  const second = hosts.of("1");
  hosts.of("1000");
  expect(hosts.of("0")).toBe(first);
  expect(hosts.of("1")).toBe(second);
  for (let index = 1001; index < 2001; index += 1) hosts.of(String(index));
  expect(hosts.of("0")).not.toBe(first);
});

it("sets with the same connections share their hosts, and others do not", () => {
  const [one, other] = [{}, {}];
  expect(hostsBehind(one)).toBe(hostsBehind(one));
  expect(hostsBehind(other)).not.toBe(hostsBehind(one));
  expect(hostsBehind()).toBe(hostsBehind(undefined));
  expect(hostsBehind()).not.toBe(hostsBehind(one));
});
