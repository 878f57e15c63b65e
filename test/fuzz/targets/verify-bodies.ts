import { Readable } from "node:stream";
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from "node:zlib";
import { decodedBody } from "../../../packages/verify/src/http/content-coding.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { latin1 } from "./material.ts";

export const VERIFY_BODIES: readonly Target[] = [
  {
    name: "content-coding",
    parsers: ["verify/http/content-coding.ts"],
    says: "decodes what zlib decodes at once, and leaves an unknown coding alone",
    structure: "bytes",
    seeds: [
      coded("gzip", gzipSync("{}")),
      coded("x-gzip", gzipSync("{}").subarray(0, -3)),
      coded("deflate", deflateSync("{}")),
      coded("deflate", deflateRawSync("{}")),
      coded("br", brotliCompressSync("{}")),
      coded("gzip, br", brotliCompressSync(gzipSync("{}"))),
      coded("identity,, GZIP", gzipSync("{}")),
      coded("gzip,gzip,gzip,gzip,gzip,gzip", Buffer.of()),
      coded("zip", Buffer.from("{}")),
    ],
    words: ["gzip", "deflate", "br", "identity", "zip", ",", "\n"],
    share: 0.1,
    async check(input) {
      const end = input.includes(10) ? input.indexOf(10) : 0;
      const contentEncoding = latin1(input.subarray(0, end));
      const body = input.subarray(end + 1);
      const read = await decodedText(body, contentEncoding).catch((error: unknown) => {
        must(error instanceof Error && "code" in error, "an error has a code");
        return undefined;
      });
      const codings = contentEncoding.toLowerCase().split(",");
      const known = codings.map((coding) => coding.trim()).filter((coding) => !["", "identity"].includes(coding));
      if (known.length > 5) mustEqual(read, undefined, "more than five codings are refused");
      else mustEqual(read, decodedAtOnce(body, known), "the body is what zlib decodes");
      return `${known.length}/${read === undefined ? "refused" : "read"}`;
    },
  },
];

/** A body, after the line with its codings. */
function coded(contentEncoding: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${contentEncoding}\n`), body]);
}

async function decodedText(body: Uint8Array, contentEncoding: string): Promise<string> {
  const chunks: Buffer[] = [];
  const decoded = await decodedBody(Readable.from([body], { objectMode: false }), contentEncoding);
  for await (const chunk of decoded) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("base64");
}

const SYNC = { finishFlush: constants.Z_SYNC_FLUSH };
const AT_ONCE: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {
  gzip: (body) => gunzipSync(body, SYNC),
  "x-gzip": (body) => gunzipSync(body, SYNC),
  deflate: (body) => (((body[0] ?? 8) & 15) === 8 ? inflateSync : inflateRawSync)(body, SYNC),
  br: (body) => brotliDecompressSync(body, { finishFlush: constants.BROTLI_OPERATION_FLUSH }),
};

/** As base64, or undefined if zlib refuses the body. */
function decodedAtOnce(body: Uint8Array, codings: readonly string[]): string | undefined {
  if (!codings.every((coding) => Object.hasOwn(AT_ONCE, coding))) return Buffer.from(body).toString("base64");
  try {
    const decoded = codings.reduceRight((bytes, coding) => AT_ONCE[coding]?.(bytes) ?? bytes, body);
    return Buffer.from(decoded).toString("base64");
  } catch {
    return undefined;
  }
}
