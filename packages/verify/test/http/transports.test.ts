import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { createRemoteKeySet, KeySetError } from "@signpost/verify";
import { fetch as undiciFetch } from "undici";
import { describe, expect, test } from "vitest";
import { nodeFetch } from "../../src/http/node-fetch.ts";
import type { FetchLike } from "../../src/http/request.ts";
import { testKey } from "../support/keys.ts";
import { END, jsonAnswer, rawServer, RESET, wholeAnswer } from "../support/raw-server.ts";
import type { Step } from "../support/raw-server.ts";

// A set reaches the same verdict over node:http as over undici, whatever a server sends.

const JWKS = JSON.stringify({ keys: [testKey("a").jwk] });
const JSON_TYPE = "content-type: application/json\r\n";
const HEAD = `HTTP/1.1 200 OK\r\n${JSON_TYPE}`;

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function chunked(...parts: readonly string[]): string {
  return `${HEAD}transfer-encoding: chunked\r\n\r\n${parts.join("")}`;
}

function coded(coding: string, body: Uint8Array): Buffer {
  return jsonAnswer(body, `content-encoding: ${coding}\r\n`);
}

function gzipped(times: number): Buffer {
  return Array.from({ length: times }).reduce<Buffer>((body) => gzipSync(body), Buffer.from(JWKS));
}

/** What became of a set: `ok`, or the code, status and reason of its error. */
async function outcome(fetch: FetchLike, steps: readonly Step[], scheme: string = "http"): Promise<string> {
  const { port } = await rawServer(() => steps);
  const url = `${scheme}://127.0.0.1:${port}/jwks`;
  const keySet = createRemoteKeySet(url, { fetch, allowInsecureLoopback: true, timeoutMs: 2000 });
  try {
    await keySet.preload();
    return "ok";
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    const reason = error.message.split("could not be fetched: ")[1];
    return [error.code, error.status, reason].filter((part) => part !== undefined).join(" ");
  }
}

const NOT_HTTP = "fetch_failed HTTPParserError";
const CLOSED = "fetch_failed UND_ERR_SOCKET";
const NOT_JSON = "invalid_jwks";
const NOT_DECODED = "fetch_failed Z_DATA_ERROR";

const SAME: readonly (readonly [name: string, steps: readonly Step[], outcome: string])[] = [
  // Framing of a body (RFC 9112 section 6).
  ["a length", [jsonAnswer(JWKS)], "ok"],
  ["a length, and the connection closed", [jsonAnswer(JWKS, "connection: close\r\n"), END], "ok"],
  ["chunks", [chunked(chunk(JWKS.slice(0, 9)), chunk(JWKS.slice(9)), "0\r\n\r\n")], "ok"],
  ["chunks in packets", [chunked(chunk(JWKS.slice(0, 9))), chunk(JWKS.slice(9)), "0\r\n", "\r\n"], "ok"],
  ["chunks and trailers", [chunked(chunk(JWKS), "0\r\nx: y\r\n\r\n")], "ok"],
  ["a chunk with an extension", [chunked(chunk(JWKS).replace("\r\n", ";a=b\r\n"), "0\r\n\r\n")], "ok"],
  ["until the connection closes", [`${HEAD}\r\n${JWKS}`, END], "ok"],
  ["HTTP/1.0", [`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n${JWKS}`, END], "ok"],
  ["no reason phrase", [jsonAnswer(JWKS).toString().replace(" OK", "")], "ok"],
  ["a body in two packets", [`${HEAD}content-length: ${JWKS.length}\r\n\r\n`, JWKS.slice(0, 9), JWKS.slice(9)], "ok"],
  ["early hints first", ["HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", jsonAnswer(JWKS)], "ok"],
  ["an empty body", [jsonAnswer("")], NOT_JSON],
  ["more bytes than its length", [`${HEAD}content-length: 5\r\n\r\n${JWKS}`], NOT_JSON],
  ["fewer bytes than its length", [`${HEAD}content-length: 9999\r\n\r\n${JWKS}`, END], CLOSED],
  ["a chunk that is cut", [chunked("ff\r\nabc"), END], CLOSED],
  ["no last chunk", [chunked(chunk(JWKS)), END], CLOSED],
  ["a chunk without a size", [chunked("zz\r\nabc")], NOT_HTTP],
  ["a negative length", [`${HEAD}content-length: -5\r\n\r\n${JWKS}`], NOT_HTTP],

  // No answer, and bytes that are none.
  ["nothing, and the connection closed", ["", END], CLOSED],
  ["half of a header", ["HTTP/1.1 200 OK\r\ncontent-t", END], CLOSED],
  ["a reset", ["", RESET], "fetch_failed ECONNRESET"],
  ["silence", [""], "timeout"],
  ["silence after the headers", [`${HEAD}content-length: 9\r\n\r\n`], "timeout"],
  ["another protocol", ["SSH-2.0-OpenSSH_9\r\n"], NOT_HTTP],
  ["a TLS alert", [Buffer.of(21, 3, 1, 0, 2, 2, 40), END], NOT_HTTP],
  ["another version", ["HTTP/2 200\r\n\r\n"], NOT_HTTP],
  ["line feeds alone", [jsonAnswer(JWKS).toString().replaceAll("\r", "")], NOT_HTTP],
  ["a status of four digits", [wholeAnswer("2000 X")], NOT_HTTP],
  ["another protocol after a switch", ["HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"], CLOSED],

  // Headers.
  ["a NUL in a header", [jsonAnswer(JWKS, "x: a\0b\r\n")], NOT_HTTP],
  ["a control character in a header", [jsonAnswer(JWKS, "x: a\x01b\r\n")], NOT_HTTP],
  ["a byte above 127 in a header", [jsonAnswer(JWKS, "x: \xe9\r\n")], "ok"],
  ["2,500 headers", [`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(2500)}${JSON_TYPE}content-length: 2\r\n\r\n{}`], NOT_JSON],
  ["an upgrade that is only offered", [jsonAnswer(JWKS, "connection: upgrade\r\nupgrade: h2c\r\n")], "ok"],
  ["its type twice", [jsonAnswer(JWKS, JSON_TYPE)], "ok"],
  ["another type", [wholeAnswer("200 OK", JWKS, "content-type: text/html\r\n")], "unexpected_content_type"],
  ["no type", [wholeAnswer("200 OK", JWKS)], "unexpected_content_type"],

  // Statuses.
  ["204", ["HTTP/1.1 204 No Content\r\n\r\n"], "http_status 204"],
  ["205", [wholeAnswer("205 X")], "http_status 205"],
  ["206", [wholeAnswer("206 X", JWKS, JSON_TYPE)], "http_status 206"],
  ["302", [wholeAnswer("302 X", "", "location: /other\r\n")], "redirect_refused 302"],
  ["302 to nowhere", [wholeAnswer("302 X", "", "location: http://[bad\r\n")], "redirect_refused 302"],
  ["301 with a body", [wholeAnswer("301 X", "moved", "location: http://127.0.0.1:1/\r\n")], "redirect_refused 301"],
  ["304 without a condition", ["HTTP/1.1 304 X\r\n\r\n"], "http_status 304"],
  ["304 with a length", ["HTTP/1.1 304 X\r\ncontent-length: 99\r\n\r\n"], "http_status 304"],
  ["304 with a body", ["HTTP/1.1 304 X\r\ncontent-length: 5\r\n\r\nhello"], "http_status 304"],
  ["401", [wholeAnswer("401 X", "", "www-authenticate: Basic\r\n")], "http_status 401"],
  ["404 with a body", [wholeAnswer("404 X", "none")], "http_status 404"],
  ["408, and the connection closed", [wholeAnswer("408 X"), END], "http_status 408"],
  ["503", [wholeAnswer("503 X", "", "retry-after: 7\r\n")], "http_status 503"],
  ["999", [wholeAnswer("999 X")], "http_status 999"],

  // Content codings (RFC 9110 section 8.4.1), although none was asked for.
  ["gzip", [coded("gzip", gzipSync(JWKS))], "ok"],
  ["X-GZIP", [coded("X-GZIP", gzipSync(JWKS))], "ok"],
  ["gzip of two members", [coded("gzip", Buffer.concat([gzipSync(JWKS.slice(0, 9)), gzipSync(JWKS.slice(9))]))], "ok"],
  ["deflate", [coded("deflate", deflateSync(JWKS))], "ok"],
  ["raw deflate", [coded("deflate", deflateRawSync(JWKS))], "ok"],
  ["br", [coded("br", brotliCompressSync(JWKS))], "ok"],
  ["gzip, then br", [coded("gzip, br", brotliCompressSync(gzipSync(JWKS)))], "ok"],
  ["gzip, then deflate", [coded("gzip,deflate", deflateSync(gzipSync(JWKS)))], "ok"],
  ["five codings", [coded("gzip,gzip,gzip,gzip,gzip", gzipped(5))], "ok"],
  ["identity", [coded("identity", Buffer.from(JWKS))], "ok"],
  ["an unknown coding", [coded("zip", gzipSync(JWKS))], NOT_JSON],
  ["gzip without its end", [coded("gzip", gzipSync(JWKS).subarray(0, -8))], "ok"],
  ["deflate without its end", [coded("deflate", deflateSync(JWKS).subarray(0, -4))], "ok"],
  ["half of a deflate", [coded("deflate", deflateSync(JWKS).subarray(0, 30))], NOT_JSON],
  ["half of a raw deflate", [coded("deflate", deflateRawSync(JWKS).subarray(0, 30))], NOT_JSON],
  ["half of a br", [coded("br", brotliCompressSync(JWKS).subarray(0, 30))], NOT_JSON],
  ["half of a gzip", [coded("gzip", gzipSync(JWKS).subarray(0, 30))], NOT_JSON],
  ["gzip and more", [coded("gzip", Buffer.concat([gzipSync(JWKS), Buffer.from("more")]))], NOT_DECODED],
  ["gzip that is none", [coded("gzip", Buffer.from(JWKS))], NOT_DECODED],
  ["deflate that is none", [coded("deflate", Buffer.from(JWKS))], NOT_DECODED],
  ["an empty gzip", [coded("gzip", Buffer.alloc(0))], NOT_JSON],
  ["an empty deflate", [coded("deflate", Buffer.alloc(0))], NOT_JSON],
  ["gzip that is cut", [`${HEAD}content-encoding: gzip\r\ncontent-length: 999\r\n\r\n`, END], CLOSED],
  ["more than the limit", [jsonAnswer("x".repeat(70_000))], "body_too_large"],
  ["gzip of more than the limit", [coded("gzip", gzipSync(Buffer.alloc(10_000_000, " ")))], "body_too_large"],
];

describe.each([
  ["node:http", nodeFetch],
  ["undici", undiciFetch as FetchLike],
])("over %s", (_name, fetch) => {
  test.each(SAME)("%s", async (_case, steps, expected) => {
    expect(await outcome(fetch, steps)).toBe(expected);
  });
});

// Where the answers of the two differ, node:http is stricter, says more, or reads more codings.
test.each<readonly [name: string, steps: readonly Step[], overNode: string, overUndici: string]>([
  ["100 first", ["HTTP/1.1 100 Continue\r\n\r\n", jsonAnswer(JWKS)], "ok", CLOSED],
  ["101 without a switch", ["HTTP/1.1 101 X\r\n\r\n"], "http_status 101", "fetch_failed ERR_ASSERTION"],
  ["407", [wholeAnswer("407 X")], "http_status 407", "fetch_failed"],
  ["identity among other codings, and an empty one", [coded(", gzip ,, identity", gzipSync(JWKS))], "ok", NOT_JSON],
  [
    "headers of more than 16 KiB",
    [jsonAnswer(JWKS, `x: ${"y".repeat(20_000)}\r\n`)],
    "fetch_failed HPE_HEADER_OVERFLOW",
    "fetch_failed UND_ERR_HEADERS_OVERFLOW",
  ],
  [
    "a chunk extension of more than 16 KiB",
    [chunked(chunk(JWKS).replace("\r\n", `;${"a".repeat(20_000)}\r\n`), "0\r\n\r\n")],
    NOT_HTTP,
    "ok",
  ],
  [
    "six content codings",
    [coded("gzip,gzip,gzip,gzip,gzip,gzip", gzipSync(JWKS))],
    "fetch_failed TOO_MANY_CONTENT_CODINGS",
    "fetch_failed",
  ],
])("%s: another reason", async (_name, steps, overNode, overUndici) => {
  expect(await outcome(nodeFetch, steps)).toBe(overNode);
  expect(await outcome(undiciFetch as FetchLike, steps)).toBe(overUndici);
});

test.each([
  ["two lengths", [`${HEAD}content-length: 5\r\ncontent-length: ${JWKS.length}\r\n\r\n${JWKS}`]],
  ["a length and chunks", [`${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${chunk(JWKS)}0\r\n\r\n`]],
  ["a space in the name of a header", [jsonAnswer(JWKS, "x y: z\r\n")]],
  ["no name of a header", [jsonAnswer(JWKS, ": z\r\n")]],
  ["a header over two lines", [jsonAnswer(JWKS, "x: a\r\n b\r\n")]],
  ["a header without a colon", [jsonAnswer(JWKS, "xyz\r\n")]],
])("%s: not HTTP over either", async (_name, steps) => {
  expect(await outcome(nodeFetch, steps)).toBe(NOT_HTTP);
  expect(await outcome(undiciFetch as FetchLike, steps)).toMatch(/^fetch_failed/);
});

describe("a TLS handshake that fails with", () => {
  const alert = (code: number): Step => Buffer.of(21, 3, 3, 0, 2, 2, code);

  test.each<readonly [name: string, steps: readonly Step[], reason: RegExp]>([
    ["an answer in plain HTTP", ["HTTP/1.1 400 X\r\n\r\n", END], /WRONG_VERSION_NUMBER/],
    ["another protocol", ["SSH-2.0-OpenSSH_9\r\n"], /WRONG_VERSION_NUMBER/],
    ["an alert that no cipher fits", [alert(40), END], /ALERT_HANDSHAKE_FAILURE/],
    ["an alert that the version is not supported", [alert(70), END], /TLSV1_ALERT_PROTOCOL_VERSION/],
  ])("%s has the same reason over either", async (_name, steps, reason) => {
    const overNode = await outcome(nodeFetch, steps, "https");
    expect(overNode).toMatch(/^fetch_failed ERR_SSL_/);
    expect(overNode).toMatch(reason);
    expect(await outcome(undiciFetch as FetchLike, steps, "https")).toBe(overNode);
  });
});
