import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { ProxyAgent } from "undici";
import { rejection } from "./support/signatures.ts";

test.each([403, 407, 502])("a proxy that answers %d to CONNECT is named in the error", async (status) => {
  const proxy = createServer().on("connect", (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const fake = await startFakeVaultTransit();
  const { port } = proxy.address() as AddressInfo;
  const dispatcher = new ProxyAgent({ uri: `http://user:secret@127.0.0.1:${port}`, proxyTunnel: true });
  onTestFinished(async () => {
    await dispatcher.destroy();
    await fake.stop();
    proxy.close();
  });
  const auth = { method: "token", token: fake.token } as const;
  const opening = openVaultTransitSigner({ address: fake.address, key: "op", auth, dispatcher, openDeadlineMs: 500 });
  const error = await rejection(opening);
  expect(error).toMatchObject({
    code: "unavailable",
    transient: true,
    message: expect.stringContaining(`the proxy answered with status ${status}`),
  });
});
