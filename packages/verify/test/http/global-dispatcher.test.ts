import { createRemoteKeySet } from "@signpost/verify";
import type { Dispatcher } from "undici";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, test } from "vitest";
import { hasGlobalDispatcher } from "../../src/http/global-dispatcher.ts";
import { testKey } from "../support/keys.ts";
import { jsonAnswer, rawServer } from "../support/raw-server.ts";

// undici is imported late, because it sets an Agent when it loads.
type Undici = typeof import("undici");
let undici: Undici;

test("the dispatcher of Node's own fetch is not one that the program has set", async () => {
  await fetch("data:,");
  expect(hasGlobalDispatcher()).toBe(false);
});

describe("with undici", () => {
  beforeAll(async () => {
    undici = await import("undici");
  });
  afterEach(() => undici.setGlobalDispatcher(new undici.Agent()));

  it.each<[string, boolean, (undici: Undici) => Dispatcher]>([
    ["an Agent without options", false, ({ Agent }) => new Agent()],
    ["an Agent with other settings of TLS", true, ({ Agent }) => new Agent({ connect: { rejectUnauthorized: true } })],
    ["an Agent with limits", true, ({ Agent }) => new Agent({ connections: 1 })],
    ["an Agent with a factory", true, ({ Agent, Pool }) => new Agent({ factory: (origin) => new Pool(origin) })],
    ["an Agent with an interceptor", true, ({ Agent, interceptors }) => new Agent().compose(interceptors.retry())],
    ["a class that extends Agent", true, ({ Agent }) => new (class Own extends Agent {})()],
    ["a ProxyAgent", true, ({ ProxyAgent }) => new ProxyAgent("http://127.0.0.1:9")],
    ["an EnvHttpProxyAgent", true, ({ EnvHttpProxyAgent }) => new EnvHttpProxyAgent()],
    ["a MockAgent", true, ({ MockAgent }) => new MockAgent()],
  ])("%s is one that the program has set: %s", (_name, expected, make) => {
    const dispatcher = make(undici);
    onTestFinished(() => dispatcher.close());
    undici.setGlobalDispatcher(dispatcher);
    expect(hasGlobalDispatcher()).toBe(expected);
  });

  describe("where Node 26 and undici 8 keep it", () => {
    const [older, newer] = [Symbol.for("undici.globalDispatcher.1"), Symbol.for("undici.globalDispatcher.2")];
    const before: unknown = Reflect.get(globalThis, newer);
    afterEach(() => void Reflect.set(globalThis, newer, before));

    class Dispatcher1Wrapper {
      readonly dispatch = (): boolean => true;
    }

    it.each<[string, string, boolean, (undici: Undici) => object, (undici: Undici) => object]>([
      ["an Agent", "its wrapper", false, ({ Agent }) => new Agent(), () => new Dispatcher1Wrapper()],
      ["an Agent", "another Agent", false, ({ Agent }) => new Agent(), ({ Agent }) => new Agent()],
      ["a ProxyAgent", "its wrapper", true, proxyAgent, () => new Dispatcher1Wrapper()],
      ["an Agent", "a ProxyAgent of undici 7", true, ({ Agent }) => new Agent(), proxyAgent],
    ])("%s, and %s for undici 7: %s", (_newer, _older, expected, makeNewer, makeOlder) => {
      Reflect.set(globalThis, newer, makeNewer(undici));
      Reflect.set(globalThis, older, makeOlder(undici));
      expect(hasGlobalDispatcher()).toBe(expected);
    });
  });

  it("a set without connections of the caller is fetched through the dispatcher of the program", async () => {
    const server = await rawServer(() => [jsonAnswer(JSON.stringify({ keys: [testKey("a").jwk] }))]);
    const keySet = createRemoteKeySet(`http://127.0.0.1:${server.port}/jwks`, { allowInsecureLoopback: true });
    await keySet.refresh();
    const counted: string[] = [];
    const counting = new undici.Agent().compose((dispatch) => (options, handler) => {
      counted.push(`${options.method} ${options.path}`);
      return dispatch(options, handler);
    });
    onTestFinished(() => counting.close());
    undici.setGlobalDispatcher(counting);
    await keySet.refresh();
    expect(counted).toEqual(["GET /jwks"]);
    expect(server.requests).toHaveLength(2);
  });
});

function proxyAgent({ ProxyAgent }: Undici): object {
  return new ProxyAgent("http://127.0.0.1:9");
}
