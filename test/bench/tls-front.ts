import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";

/** TLS for `localhost` in front of a server without it. */
export interface TlsFront {
  readonly port: number;
  /** Environment of a process that trusts it. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export async function startTlsFront(target: number, protocol: "h2" | "http/1.1"): Promise<TlsFront> {
  const { cert, key } = selfSignedCertificate("localhost");
  const folder = await mkdtemp(join(tmpdir(), "signpost-bench-"));
  const file = join(folder, "certificate.pem");
  await writeFile(file, cert);
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key, ALPNProtocols: [protocol] }, (near) => {
    const far = connect(target, "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket.setNoDelay(true));
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    environment: { NODE_EXTRA_CA_CERTS: file },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
