import { createClientKeySets, createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import * as undici from "undici";
import type { Dispatcher } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { requireGuard } from "../../src/http/guard-proof.ts";
import { publicDispatcher } from "../../src/http/public-dispatcher.ts";
import { testKey } from "../support/keys.ts";
import { LONG_CACHE, origin } from "../support/remote.ts";

// A runtime whose `fetch` passes the guard over is refused before the first request. Which runtimes those are is tested in
// runtimes.bun.deno.test.ts.

type UndiciFetch = typeof undici.fetch;

/** The guard asks by text. */
const textOf = (input: undici.RequestInfo): string => (typeof input === "string" ? input : "");

interface Probing {
  readonly dispatcher: Dispatcher;
  readonly asked: readonly string[];
}

function dispatcherOn(fetch: UndiciFetch): Probing {
  const asked: string[] = [];
  const counted: UndiciFetch = async (input, init) => {
    asked.push(textOf(input));
    return fetch(input, init);
  };
  const dispatcher = publicDispatcher({ ...undici, fetch: counted }, { allowSubnets: ["127.0.0.0/8"] });
  onTestFinished(() => dispatcher.close());
  return { dispatcher, asked };
}

const PROBES = ["http://127.0.0.1:65535/", "http://guard-probe.invalid:65535/"];

describe("the proof of the guard", () => {
  it("is sent once for each dispatcher, whatever the dispatcher allows", async () => {
    const { dispatcher, asked } = dispatcherOn(undici.fetch);
    await Promise.all([requireGuard(dispatcher), requireGuard(dispatcher)]);
    await requireGuard(dispatcher);
    expect(asked).toEqual(PROBES);
  });

  it.each<[string, UndiciFetch]>([
    ["ignores its dispatcher", async () => new undici.Response("reached")],
    ["fails in another way", async () => Promise.reject(new TypeError("fetch failed"))],
    [
      "asks the guard for literals alone",
      async (input, init) => (textOf(input).includes("127.0.0.1") ? undici.fetch(input, init) : new undici.Response()),
    ],
  ])("fails where fetch %s, and is not sent again", async (_name, fetch) => {
    const { dispatcher, asked } = dispatcherOn(fetch);
    await expect(requireGuard(dispatcher)).rejects.toMatchObject({ code: "guard_unavailable", transient: false });
    const probes = asked.length;
    await expect(requireGuard(dispatcher)).rejects.toMatchObject({ code: "guard_unavailable" });
    expect(asked).toHaveLength(probes);
  });

  it("is used by every set with the guard, and survives compose", async () => {
    const key = testKey("k");
    const server = await startCountingJwksServer(origin([key], LONG_CACHE));
    onTestFinished(() => server.stop());
    const { dispatcher } = dispatcherOn(async () => new undici.Response("reached"));
    const composed = dispatcher.compose((dispatch) => dispatch);
    const options = { allowInsecureLoopback: true };
    for (const keyFunction of [
      createRemoteKeySet(server.jwksUri, { ...options, dispatcher }),
      createRemoteKeySet(server.jwksUri, { ...options, dispatcher: composed }),
      createClientKeySets({ ...options, dispatcher }).keysOf("client", { jwksUri: server.jwksUri }),
    ]) {
      await expect(keyFunction({ alg: "ES256", kid: "k" })).rejects.toMatchObject({ code: "guard_unavailable" });
    }
    expect(server.connections()).toBe(0);
    // One without a guard needs no proof, and one whose guard works gives it.
    const agent = new undici.Agent();
    onTestFinished(() => agent.close());
    const allowing = createPublicDispatcher({ allowSubnets: ["127.0.0.0/8"] });
    onTestFinished(() => allowing.close());
    for (const working of [agent, allowing]) {
      const keySet = createRemoteKeySet(server.jwksUri, { ...options, dispatcher: working });
      await expect(keySet({ alg: "ES256", kid: "k" })).resolves.toBeDefined();
    }
  });
});
