import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { createClientKeySets, createPublicDispatcher, discoverKeySet } from "@signpost/verify";
import { jwtVerify, SignJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import type { TestKey } from "../support/keys.ts";
import { fakeClock, LONG_CACHE, origin, setup } from "../support/remote.ts";

// A kid names one key for good, whichever set it comes back in.

const first = testKey("a");
const second = testKey("a");
const between = testKey("b");
const REBOUND = { name: "KeySetError", code: "kid_rebound" };

describe("a kid of a remote set that comes back for another key", () => {
  it.each([
    ["in the next set", [[second]]],
    ["after one set in between", [[between], [second]]],
    ["after many", [[between], [testKey("c")], [between], [second]]],
  ])("%s is refused", async (_name, sets) => {
    const { verify, keySet, server } = await setup(origin([first], LONG_CACHE));
    await verify(first.token());
    for (const keys of sets) {
      server.answerWith(origin(keys, LONG_CACHE));
      await keySet.refresh();
    }
    await expect(verify(second.token())).rejects.toMatchObject(REBOUND);
    server.answerWith(origin([first], LONG_CACHE));
    await keySet.refresh();
    await verify(first.token());
  });

  it("costs no request", async () => {
    const { verify, keySet, server, count } = await setup(origin([first], LONG_CACHE));
    await verify(first.token());
    server.answerWith(origin([second], LONG_CACHE));
    await keySet.refresh();
    await expect(verify(second.token())).rejects.toMatchObject(REBOUND);
    expect(count()).toBe(2);
  });

  it("does not shake the other kids", async () => {
    const { verify, keySet, server } = await setup(origin([first, between], LONG_CACHE));
    await verify(first.token());
    server.answerWith(origin([second, between], LONG_CACHE));
    await keySet.refresh();
    await expect(verify(second.token())).rejects.toMatchObject(REBOUND);
    await verify(between.token());
  });

  it("is accepted if no key was returned for it before", async () => {
    const { verify, keySet, server } = await setup(origin([first], LONG_CACHE));
    await keySet.preload();
    server.answerWith(origin([second], LONG_CACHE));
    await keySet.refresh();
    await verify(second.token());
  });

  it("is a matter of kids: a token without one goes by the set as it is", async () => {
    const { verify, keySet, server } = await setup(origin([first], LONG_CACHE), { allowMissingKid: true });
    const kidless = (key: TestKey): Promise<string> =>
      new SignJWT({}).setProtectedHeader({ alg: "ES256" }).sign(key.privateKey);
    await verify(first.token());
    server.answerWith(origin([second], LONG_CACHE));
    await keySet.refresh();
    await verify(kidless(second));
  });
});

it("a discovered set still knows its kids at another jwks_uri", async () => {
  let jwksPath = "/one";
  const sets = new Map([
    ["/one", origin([first], LONG_CACHE)],
    ["/two", origin([second, between], LONG_CACHE)],
  ]);
  const server = await startCountingJwksServer((request) => {
    if (request.path !== "/.well-known/openid-configuration")
      return sets.get(request.path)?.(request) ?? { status: 404 };
    const metadata = { issuer: server.origin, jwks_uri: server.origin + jwksPath };
    return { headers: { ...LONG_CACHE, "content-type": "application/json" }, body: JSON.stringify(metadata) };
  });
  onTestFinished(() => server.stop());
  const keySet = discoverKeySet(server.origin, { allowInsecureLoopback: true, clock: fakeClock() });
  await jwtVerify(await first.token(), keySet);
  jwksPath = "/two";
  await keySet.refresh();
  await jwtVerify(await between.token(), keySet);
  await expect(jwtVerify(await second.token(), keySet)).rejects.toMatchObject(REBOUND);
});

describe("a kid of a client that comes back for another key", () => {
  const jwks = (...keys: readonly TestKey[]): { jwks: { keys: unknown[] } } => ({
    jwks: { keys: keys.map((key) => key.jwk) },
  });

  it("is refused in another jwks object, and for that client alone", async () => {
    const keySets = createClientKeySets();
    await jwtVerify(await first.token(), keySets.keysOf("one", jwks(first)));
    await jwtVerify(await between.token(), keySets.keysOf("one", jwks(between)));
    await expect(jwtVerify(await second.token(), keySets.keysOf("one", jwks(second)))).rejects.toMatchObject(REBOUND);
    await jwtVerify(await second.token(), keySets.keysOf("two", jwks(second)));
  });

  it("is refused even if the client moved to a jwks_uri, or its set was dropped in between", async () => {
    const server = await startCountingJwksServer(origin([second], LONG_CACHE));
    onTestFinished(() => server.stop());
    const keySets = createClientKeySets({
      maxClients: 1,
      allowInsecureLoopback: true,
      dispatcher: createPublicDispatcher({ allowSubnets: ["127.0.0.0/8"] }),
    });
    await jwtVerify(await first.token(), keySets.keysOf("one", jwks(first)));
    await jwtVerify(await second.token(), keySets.keysOf("two", jwks(second)));
    const moved = keySets.keysOf("one", { jwksUri: server.jwksUri });
    await expect(jwtVerify(await second.token(), moved)).rejects.toMatchObject(REBOUND);
  });
});
