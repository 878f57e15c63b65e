// Runs the signer of kube-apiserver on whichever runtime starts this, and asks it for signatures over its socket.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { check, claims, done, handOver, loadHost, runtime, settings, signAcross } from "./lib.mjs";

const { command, backend, tokens } = settings;
const { Client, credentials } = await loadHost("@grpc/grpc-js");
const folder = mkdtempSync(join(tmpdir(), "signpost-kube-"));
const socket = join(folder, "signer.sock");
const config = join(folder, "kubernetes.json");
const uris = backend.keys.map((/** @type {string} */ pem, /** @type {number} */ index) => {
  const file = join(folder, `${index}.pem`);
  writeFileSync(file, pem, { mode: 0o600 });
  return `local:${file}`;
});
const configure = (/** @type {readonly string[]} */ keys) =>
  writeFileSync(
    config,
    JSON.stringify({
      issuer: "https://op.example",
      socket: { path: socket },
      maxTokenLifetimeSeconds: 600,
      keys: keys.map((uri) => ({ uri })),
    }),
  );

configure(uris);
const [program, ...args] = [...command, resolve("node_modules/@signpost/kubernetes/dist/bin.js"), "--config", config];
const child = spawn(program, args, { env: { ...process.env, NODE_NO_WARNINGS: "1" } });
const ended = once(child, "close");
/** After `child.kill`, Deno sends no other signal, and takes that one for the end. @param {NodeJS.Signals} name */
const signal = (name) => process.kill(Number(child.pid), name);
/** The lines of the log, as they come. */
const log = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
/** @type {string[]} */
const seen = [];

/** @param {string} event */
async function logged(event) {
  for (let next = await log.next(); next.done !== true; next = await log.next()) {
    seen.push(next.value);
    if (next.value.includes(`"event":"${event}"`)) return;
  }
  throw new Error(`no ${event}: ${seen.join(" ")}`);
}

/** @param {string} method @param {Buffer} message @returns {Promise<Buffer>} */
function ask(method, message) {
  const same = (/** @type {Buffer} */ bytes) => bytes;
  return new Promise((answered, failed) => {
    const path = `/v1.ExternalJWTSigner/${method}`;
    client.makeUnaryRequest(path, same, same, message, (/** @type {unknown} */ error, /** @type {Buffer} */ answer) =>
      error === null ? answered(answer) : failed(error),
    );
  });
}

/** Field 1, a text of 128 to 16,383 bytes. @param {string} text */
function textField(text) {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x0a, (bytes.length & 0x7f) | 0x80, bytes.length >> 7]), bytes]);
}

/** @param {number} index */
async function sign(index) {
  const payload = Buffer.from(JSON.stringify(claims(index))).toString("base64url");
  const answer = await ask("Sign", textField(payload));
  // Two texts of less than 128 bytes, after two bytes each.
  const length = answer.readUInt8(1);
  const header = answer.toString("latin1", 2, 2 + length);
  return `${header}.${payload}.${answer.toString("latin1", 4 + length)}`;
}

/** @type {any} */
let client;

await check("start", async () => {
  await logged("ready");
  client = new Client(`unix:${socket}`, credentials.createInsecure());
});

await check("FetchKeys", async () => {
  const answer = await ask("FetchKeys", Buffer.alloc(0));
  for (const pem of backend.keys) {
    assert.ok(answer.includes(createPublicKey(pem).export({ type: "spki", format: "der" })));
  }
});

await check("Sign, with a reload in the middle", async () => {
  const nothing = () => {};
  const before = await signAcross(sign, nothing, tokens / 2);
  configure(uris.toReversed());
  signal("SIGHUP");
  await logged("loaded");
  const after = await signAcross((index) => sign(tokens / 2 + index), nothing, tokens / 2);
  handOver([...before, ...after]);
});

await check("SIGTERM", async () => {
  client.close();
  signal("SIGTERM");
  await ended;
  const end = child.exitCode ?? child.signalCode;
  // Deno itself may crash while it closes connections of HTTP/2.
  assert.ok(end === 0 || (runtime === "deno" && ["SIGABRT", "SIGSEGV"].includes(String(end))), String(end));
});

rmSync(folder, { recursive: true });
done();
