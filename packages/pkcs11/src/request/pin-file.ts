import { readRegularFile } from "@signpost/core/adapter";
import { createInFlight } from "./in-flight.ts";

/** By path. */
const readOnce = createInFlight<Uint8Array>();
/** Concurrent reads in this thread. Files that hang leave the rest of libuv's pool to the application. */
const MAX_READS = 2;
let reading = 0;
/** Reads that wait for their turn, in order of arrival. */
const waiting: (() => void)[] = [];
/** No module accepts a PIN of more than 255 bytes. A longer file is not a PIN file. */
const MAX_BYTES = 4_096;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * The PIN in a file, without a leading byte order mark and without one trailing line end. Only regular files are read: a FIFO
 * or a device may never answer. There is never a second read of a path while the first is running.
 */
export async function readPinFile(path: string): Promise<Uint8Array> {
  return withoutMarks(await readOnce(path, () => inTurn(() => readRegularFile("pin", path, MAX_BYTES))));
}

async function inTurn(read: () => Promise<Uint8Array>): Promise<Uint8Array> {
  if (reading >= MAX_READS) await new Promise<void>((resolve) => waiting.push(resolve));
  else reading += 1;
  try {
    return await read();
  } finally {
    // The next read takes over this turn.
    const next = waiting.shift();
    if (next === undefined) reading -= 1;
    else next();
  }
}

function withoutMarks(bytes: Uint8Array): Uint8Array {
  const start = BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length)) ? BYTE_ORDER_MARK.length : 0;
  let end = bytes.length;
  if (bytes[end - 1] === NEWLINE) end -= 1;
  if (end < bytes.length && bytes[end - 1] === CARRIAGE_RETURN) end -= 1;
  return bytes.subarray(start, end);
}
