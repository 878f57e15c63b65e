import { once } from "node:events";
import type { Duplex, Readable } from "node:stream";

/** More than any server uses. A small body could grow with each one. */
const MAX_CODINGS = 5;

/** Makes a decoder for a body. A body that lacks only the end of its coding is decoded, as browsers do. */
type MakeDecoder = (body: Readable) => Duplex | Promise<Duplex | undefined>;

const DECODERS: ReadonlyMap<string, MakeDecoder> = new Map<string, MakeDecoder>([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  ["br", unbrotli],
]);

/**
 * The decoded body (RFC 9110 section 8.4.1), decoded only as far as it is read. With an unknown coding, the body is returned as it is.
 * Rejects if there are more than 5 codings. The stream fails if the body cannot be decoded.
 */
export async function decodedBody(body: Readable, contentEncoding: string | null): Promise<Readable> {
  const codings = codingsOf(contentEncoding ?? "");
  if (codings.length > MAX_CODINGS) {
    throw Object.assign(new Error("too many content codings"), { code: "TOO_MANY_CONTENT_CODINGS" });
  }
  const decoders = codings.map((coding) => DECODERS.get(coding));
  if (!decoders.every((decoder) => decoder !== undefined)) return body;
  let decoded = body;
  // The last coding was applied last.
  for (const makeDecoder of decoders.toReversed()) {
    const decoder = await makeDecoder(decoded);
    if (decoder === undefined) return decoded;
    // An error of any stream reaches the reader of the last one. If the reader stops, all of them end.
    decoded = process.getBuiltinModule("node:stream").pipeline(decoded, decoder, () => {});
  }
  return decoded;
}

function codingsOf(contentEncoding: string): readonly string[] {
  const codings = contentEncoding.toLowerCase().split(",");
  return codings.map((coding) => coding.trim()).filter((coding) => coding !== "" && coding !== "identity");
}

function gunzip(): Duplex {
  const { createGunzip, constants } = process.getBuiltinModule("node:zlib");
  return createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
}

function unbrotli(): Duplex {
  const { createBrotliDecompress, constants } = process.getBuiltinModule("node:zlib");
  return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
}

/**
 * Zlib format, or raw deflate as some servers send. The first byte of the zlib format has 8 in its lower half (RFC 1950 section 2.2).
 * An empty body needs no decoder.
 */
async function inflate(body: Readable): Promise<Duplex | undefined> {
  const { createInflate, createInflateRaw, constants } = process.getBuiltinModule("node:zlib");
  const first = await firstByte(body);
  if (first === undefined) return undefined;
  const create = (first & 0x0f) === 8 ? createInflate : createInflateRaw;
  return create({ finishFlush: constants.Z_SYNC_FLUSH });
}

async function firstByte(body: Readable): Promise<number | undefined> {
  // An empty body ends without becoming readable.
  await Promise.race([once(body, "readable"), once(body, "end")]);
  const chunk = body.read() as Buffer | null;
  if (chunk !== null) body.unshift(chunk);
  return chunk?.[0];
}
