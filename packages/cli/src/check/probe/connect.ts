import { connect as connectPlain, isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, TLSSocket } from "node:tls";
import { hostOf } from "../../network/host.ts";
import type { TlsSession } from "../exchange.ts";

/** Where to connect: the host of the URL, unless the caller names another address for it. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** How the host is found. Default: as the system does. */
  readonly lookup?: LookupFunction;
}

/** An open connection. */
export interface Connection {
  readonly socket: Socket;
  readonly tls: TlsSession | undefined;
}

/**
 * Opens a connection for one request. A certificate that is not valid is recorded, not refused: what else is wrong with an OP should
 * be known too, and nothing secret is sent.
 */
export async function connect(url: URL, address: Address, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const socket = url.protocol === "https:" ? openTls(hostOf(url), address) : connectPlain({ ...address });
  const opened = url.protocol === "https:" ? "secureConnect" : "connect";
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("closed")));
    socket.once(opened, resolve);
  });
  return { socket, tls: socket instanceof TLSSocket ? sessionOf(socket) : undefined };
}

function openTls(host: string, address: Address): TLSSocket {
  return connectTls({
    ...address,
    // An address has no name to indicate (RFC 6066 section 3).
    ...(isIP(host) === 0 ? { servername: host } : {}),
    // Of the host of the URL, wherever the connection goes.
    checkServerIdentity: (_address, certificate) => checkServerIdentity(host, certificate),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
}

function sessionOf(socket: TLSSocket): TlsSession {
  const { valid_to: validTo } = socket.getPeerCertificate();
  const until = Date.parse(validTo);
  return {
    protocol: socket.getProtocol() ?? "unknown",
    // Node types it as an Error and sets the code.
    fault: socket.authorized ? undefined : String(socket.authorizationError),
    validUntil: Number.isNaN(until) ? undefined : until,
  };
}
