import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { removeOrigin, writeResponse } from "@signpost/core/adapter";

const HEADERS = { "Cache-Control": "public, max-age=300", ETag: '"etag"', "Content-Length": "4" };
const OK = { status: 200, headers: HEADERS, body: Buffer.from("body") };

/** What a client gets if this function answers. */
async function answerOf(
  answer: (res: ServerResponse) => void,
): Promise<{ status: number; headers: Headers; text: string }> {
  const server = createServer((_req, res) => {
    try {
      answer(res);
    } catch (error) {
      res.destroy(error as Error);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("a response is written as it is", async () => {
  const { status, headers, text } = await answerOf((res) => writeResponse(res, OK));
  expect([status, text]).toEqual([200, "body"]);
  expect(headers.get("cache-control")).toBe("public, max-age=300");
  expect(headers.get("etag")).toBe('"etag"');
});

test("a response without a body ends", async () => {
  const { status, text } = await answerOf((res) =>
    writeResponse(res, { status: 304, headers: { ETag: '"etag"' }, body: null }),
  );
  expect([status, text]).toEqual([304, ""]);
});

describe("a header that was set before", () => {
  test.each([
    "Content-Type",
    "Content-Encoding",
    "Last-Modified",
    "Expires",
    "Pragma",
    "Allow",
    "Set-Cookie",
    "Surrogate-Control",
    "Edge-Control",
    "X-Accel-Expires",
    "CDN-Cache-Control",
    "Any-Cache-Control",
  ])("%s is removed, since it would say something else than the endpoint", async (name) => {
    const { headers } = await answerOf((res) => {
      res.setHeader(name, "0");
      writeResponse(res, OK);
    });
    expect(headers.get(name)).toBeNull();
  });

  test.each(["Cache-Control", "ETag"])("%s is replaced", async (name) => {
    const { headers } = await answerOf((res) => {
      res.setHeader(name, "before");
      writeResponse(res, OK);
    });
    expect(headers.get(name)).toBe(name === "ETag" ? '"etag"' : "public, max-age=300");
  });

  test("Content-Length and Transfer-Encoding are those of the body", async () => {
    const { headers, text } = await answerOf((res) => {
      res.setHeader("Content-Length", "9");
      res.setHeader("Transfer-Encoding", "chunked");
      writeResponse(res, OK);
    });
    expect([headers.get("content-length"), headers.get("transfer-encoding"), text]).toEqual(["4", null, "body"]);
  });

  test.each(["Strict-Transport-Security", "X-Cache-Control-Not", "Vary", "Access-Control-Allow-Origin"])(
    "%s is of others, and stays",
    async (name) => {
      const { headers } = await answerOf((res) => {
        res.setHeader(name, "value");
        writeResponse(res, OK);
      });
      expect(headers.get(name)).toBe("value");
    },
  );

  test("Vary: Origin goes if any origin may read the response", async () => {
    const { headers } = await answerOf((res) => {
      res.setHeader("Vary", "Origin");
      writeResponse(res, { ...OK, headers: { ...HEADERS, "Access-Control-Allow-Origin": "*" } });
    });
    expect([headers.get("vary"), headers.get("access-control-allow-origin")]).toEqual([null, "*"]);
  });
});

test("a response that has begun or ended stays as it is", async () => {
  const begun = await answerOf((res) => {
    res.writeHead(201);
    writeResponse(res, OK);
    res.end("other");
  });
  expect([begun.status, begun.text]).toEqual([201, "other"]);
  const ended = await answerOf((res) => {
    res.end("other");
    writeResponse(res, OK);
  });
  expect(ended.text).toBe("other");
});

test("headers that have been sent keep their origin", async () => {
  const { status, headers, text } = await answerOf((res) => {
    res.writeHead(200, { "Access-Control-Allow-Origin": "https://rp.example", Vary: "Origin" });
    res.flushHeaders();
    removeOrigin(res);
    res.end("body");
  });
  expect([status, headers.get("vary"), text]).toEqual([200, "Origin", "body"]);
});
