import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A DNS server on loopback. It has IPv4 addresses alone, and never answers where they are `undefined`. */
export interface DnsServer extends AsyncDisposable {
  /** As `setServers` takes it. */
  readonly address: string;
  /** Names that were asked for. */
  readonly asked: readonly string[];
}

const TYPE_A = 1;
const FOUND = 0;
const NO_SUCH_NAME = 3;

export async function startDnsServer(
  addressesOf: (name: string, family: 4 | 6) => readonly string[] | undefined,
): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, { port, address }) => {
    const { name, end } = readName(query);
    asked.push(name);
    const family = query.readUInt16BE(end) === TYPE_A ? 4 : 6;
    const found = addressesOf(name, family);
    if (found === undefined) return;
    const records = family === 4 ? found.map(recordOf) : [];
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 + (found.length === 0 ? NO_SUCH_NAME : FOUND), 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  return {
    address: `127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** RFC 1035 section 4.1.2: labels with their lengths, and an empty one. */
function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

/** An A record of the name in the question, for no time. */
function recordOf(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]);
}
