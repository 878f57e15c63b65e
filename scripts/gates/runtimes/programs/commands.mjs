// Runs the signpost command on whichever runtime starts this.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { check, claims, done, handOver, load, runtime, settings } from "./lib.mjs";

const { command, backend } = settings;
const bin = resolve("node_modules/@signpost/cli/dist/bin.js");
const folder = mkdtempSync(join(tmpdir(), "signpost-commands-"));
backend.keys.forEach((/** @type {string} */ pem, /** @type {number} */ index) =>
  writeFileSync(join(folder, `${index}.pem`), pem, { mode: 0o600 }),
);
const configuration = {
  issuer: "https://op.example",
  keys: backend.keys.map((/** @type {string} */ _pem, /** @type {number} */ index) => ({
    signer: `local:${index}.pem`,
  })),
};
writeFileSync(join(folder, "signpost.config.json"), JSON.stringify(configuration));

/** @param {readonly string[]} args @param {string} [input] */
function start(args, input = "") {
  const [program, ...first] = [...command, bin, ...args];
  const child = spawn(program, first, { cwd: folder, env: { ...process.env, NO_COLOR: "1", NODE_NO_WARNINGS: "1" } });
  child.stdin.on("error", () => {}).end(input);
  return child;
}

/** @param {readonly string[]} args @param {string} [input] */
async function run(args, input) {
  const child = start(args, input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  assert.equal(child.exitCode, 0, `signpost ${args.join(" ")}: ${stderr}${stdout}`);
  return stdout.trim();
}

const { jwkThumbprint } = await load("core");
const kids = backend.keys.map((/** @type {string} */ pem) =>
  jwkThumbprint(createPublicKey(pem).export({ format: "jwk" })),
);

await check("kid", async () => assert.equal(await run(["kid", "local:0.pem"]), kids[0]));

await check("sign and verify", async () => {
  const tokens = [];
  for (const index of [0, 1]) tokens.push(await run(["sign", `local:${index}.pem`], JSON.stringify(claims(index))));
  handOver(tokens);
  const jwks = await run(["jwks"]);
  assert.deepEqual(
    JSON.parse(jwks)
      .keys.map((/** @type {{ kid: string }} */ { kid }) => kid)
      .toSorted(),
    kids.toSorted(),
  );
  writeFileSync(join(folder, "jwks.json"), jwks);
  await run(["verify", "jwks.json", "--audience", "rp", "--issuer", "https://op.example"], tokens[0]);
});

await check("doctor", async () => {
  await run(["doctor", "local:0.pem", "--json"]);
});

await check("serve, until SIGTERM", async () => {
  const child = start(["serve", "--port", "0", "--admin-port", "0", "--json"]);
  const stderr = text(child.stderr);
  const [line] = await Promise.race([
    once(child.stdout.setEncoding("utf8"), "data"),
    once(child, "close").then(async () => Promise.reject(new Error(await stderr))),
  ]);
  const [url = ""] = /http:\/\/[^"]*\/jwks/.exec(line) ?? [];
  let response = await fetch(url);
  // Until the keys are read.
  for (; response.status === 503; response = await fetch(url)) await sleep(50);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), await run(["jwks"]));
  child.kill("SIGTERM");
  await once(child, "close");
  // Deno takes the code of such a program for the signal.
  assert.ok(child.exitCode === 143 || (runtime === "deno" && child.signalCode === "SIGTERM"), await stderr);
});

rmSync(folder, { recursive: true });
done();
