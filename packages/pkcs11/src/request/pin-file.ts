import { readRegularFile } from "@signpost/core/adapter";

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
  return withoutMarks(await readRegularFile("pin", path, MAX_BYTES));
}

function withoutMarks(bytes: Uint8Array): Uint8Array {
  const start = BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length)) ? BYTE_ORDER_MARK.length : 0;
  let end = bytes.length;
  if (bytes[end - 1] === NEWLINE) end -= 1;
  if (end < bytes.length && bytes[end - 1] === CARRIAGE_RETURN) end -= 1;
  return bytes.subarray(start, end);
}
