import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";

/** What the gate asks each server of a runtime for, and the status it must get. `ETAG` stands for the current one. */
export const REQUESTS = [
  { method: "GET", headers: {}, status: 200 },
  { method: "GET", headers: { Origin: "https://rp.example", "Accept-Encoding": "gzip, br, zstd" }, status: 200 },
  { method: "GET", headers: { "If-None-Match": "ETAG" }, status: 304 },
  { method: "GET", headers: { "If-None-Match": 'W/"another", ETAG' }, status: 304 },
  { method: "HEAD", headers: {}, status: 200 },
  { method: "HEAD", headers: { "If-None-Match": "ETAG" }, status: 304 },
  { method: "POST", headers: {}, status: 405 },
  { method: "DELETE", headers: {}, status: 405 },
];

/**
 * @typedef {object} Serving what the program printed
 * @property {Readonly<Record<string, number>>} ports by the name of the server
 * @property {string} etag
 * @property {readonly { status: number, headers: Record<string, string>, body: string }[]} expected for each of `REQUESTS`
 */

/**
 * Compares what servers answer with what the endpoint says, byte by byte, and stops them.
 *
 * @param {Serving} serving
 * @param {readonly import("node:crypto").KeyObject[]} publicKeys
 * @returns {Promise<string[]>}
 */
export async function requestProblems({ ports, etag, expected }, publicKeys) {
  /** @type {string[]} */
  const problems = [...documentProblems(expected[0]?.body ?? "", publicKeys), ...endpointProblems(etag, expected)];
  for (const [server, port] of Object.entries(ports)) {
    for (const [index, { method, headers }] of REQUESTS.entries()) {
      const sent = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, value.replace("ETAG", etag)]),
      );
      const answer = await ask(port, "/jwks", method, sent);
      const wanted = expected[index];
      const found = wanted === undefined ? ["no answer is expected"] : differences(answer, wanted);
      problems.push(...found.map((text) => `${server}, ${method} ${JSON.stringify(sent)}: ${text}`));
    }
    const { status } = await ask(port, "/another", "GET", {});
    if (status !== 404) problems.push(`${server}: GET /another is ${status}`);
  }
  await ask(ports["node:http"] ?? 0, "/stop", "GET", {});
  return problems;
}

/** @param {string} body @param {readonly import("node:crypto").KeyObject[]} publicKeys */
function documentProblems(body, publicKeys) {
  const { keys } = JSON.parse(Buffer.from(body, "base64").toString());
  const published = keys.map((/** @type {{ x: string, y: string }} */ { x, y }) => `${x} ${y}`).toSorted();
  const known = publicKeys.map((key) => key.export({ format: "jwk" })).map(({ x, y }) => `${x} ${y}`);
  return String(published) === String(known.toSorted()) ? [] : ["the key set has other keys"];
}

/**
 * What is wrong with what the endpoint itself says, which its answers are compared with.
 *
 * @param {string} etag
 * @param {Serving["expected"]} expected
 */
export function endpointProblems(etag, expected) {
  const hash = createHash("sha256").update(Buffer.from(expected[0]?.body ?? "", "base64"));
  return [
    ...(etag === `"${hash.digest("hex")}"` ? [] : ["the ETag is not the hash of the document"]),
    ...REQUESTS.flatMap(({ method, headers, status }, index) => {
      const found = expected[index];
      const isRight = found?.status === status && (status === 405 || found.headers["ETag"] === etag);
      return isRight ? [] : [`${method} ${JSON.stringify(headers)}: the endpoint says ${found?.status}`];
    }),
  ];
}

/** @param {Answer} answer @param {Serving["expected"][number]} expected */
function differences(answer, expected) {
  const headers = Object.entries(expected.headers)
    .filter(([name]) => !(answer.status === 304 && name === "Content-Length"))
    .filter(([name, value]) => answer.headers[name.toLowerCase()] !== value)
    .map(([name, value]) => `${name} is ${String(answer.headers[name.toLowerCase()])} instead of ${value}`);
  const added = ["content-encoding", "vary"].filter(
    (name) => name in answer.headers && !Object.keys(expected.headers).some((known) => known.toLowerCase() === name),
  );
  return [
    ...(answer.status === expected.status ? [] : [`status ${answer.status} instead of ${expected.status}`]),
    ...(answer.body === expected.body ? [] : ["another body"]),
    ...headers,
    ...added.map((name) => `has ${name}`),
  ];
}

/** @typedef {{ status: number | undefined, headers: import("node:http").IncomingHttpHeaders, body: string }} Answer */

/**
 * @param {number} port
 * @param {string} path
 * @param {string} method
 * @param {Record<string, string>} headers
 * @returns {Promise<Answer>}
 */
async function ask(port, path, method, headers) {
  const sent = request({ host: "127.0.0.1", port, path, method, headers, agent: false }).end();
  const [answer] = /** @type {[import("node:http").IncomingMessage]} */ (await once(sent, "response"));
  const chunks = [];
  for await (const chunk of answer) chunks.push(chunk);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks).toString("base64") };
}
