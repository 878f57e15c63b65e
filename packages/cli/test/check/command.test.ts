import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKeySet } from "@signpost/core";
import { freePort } from "@signpost/test-backends/process";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { RFC_KEY } from "../support/key-folder.ts";
import { expectTranscript } from "../support/transcript.ts";
import { runCli } from "../support/run-cli.ts";
import type { CliResult } from "../support/run-cli.ts";
import { changed, EC_KEY, ED_KEY, op } from "./support/op.ts";
import { serve, serveSignpost, serveTls, signer } from "./support/serve.ts";

// The program as a shell starts it.

const check = (...args: readonly string[]): Promise<CliResult> => runCli(["check", ...args]);

/** Without what differs from run to run. */
function masked(text: string): string {
  return text.replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT").replaceAll(/"[0-9a-f]{20,}\s*[0-9a-f]*"/g, '"SHA-256"');
}

describe("Signpost's own endpoint", () => {
  it("is in order, and so is its contract", async () => {
    const server = await serveSignpost();
    const [plain, strict] = await Promise.all([check(server.origin), check(server.origin, "--strict")]);
    expect(masked(plain.stdout)).toMatchSnapshot();
    expect([plain.code, plain.stderr, strict.code]).toEqual([0, "", 0]);
    expect(strict.stdout).toMatch(/✓ +signpost-etag/);
  });

  it("as JSON", async () => {
    const server = await serveSignpost();
    const { code, stdout } = await check(server.jwksUri, "--json");
    const report = JSON.parse(stdout) as {
      readonly rows: readonly { readonly rule: string; readonly verdict: string }[];
    };
    expect([code, report]).toEqual([
      0,
      expect.objectContaining({ isOk: true, isStrict: false, jwksUrl: server.jwksUri, target: server.jwksUri }),
    ]);
    expect(report.rows.filter(({ verdict }) => verdict === "must" || verdict === "should")).toEqual([]);
    expect(report.rows.find(({ rule }) => rule === "announcement")).toMatchObject({
      seen: "a new key may sign 2 h after it is published, 4 h behind a shared cache",
    });
  });
});

describe("the pictures of the guide", () => {
  /** What stands for the port, with as many characters. */
  const sameAddress = (origin: string): Readonly<Record<string, string>> => ({
    [origin]: "http://127.0.0.1:".padEnd(origin.length, "8080808"),
  });

  it("an endpoint of Signpost", async () => {
    const server = await serveSignpost(createKeySet([{ keyId: "sig-2026-07", signer: await signer(RFC_KEY) }]));
    const replaced = sameAddress(server.origin);
    const shown = `signpost check ${replaced[server.origin]}`;
    const { code } = await expectTranscript("check", ["check", server.origin], { replaced, shown });
    expect(code).toBe(0);
  });

  it("a framework that sends JSON", async () => {
    const server = await serve((metadata) =>
      changed(
        op({
          metadata,
          headers: { etag: undefined, "cache-control": undefined, "content-type": "application/json; charset=utf-8" },
        }),
        ({ headers, method }) => headers["if-none-match"] !== undefined || method === "POST",
        (reply, { method }) =>
          method === "POST"
            ? { status: 404, headers: {} }
            : {
                ...reply,
                status: 200,
                headers: { "content-type": "application/json; charset=utf-8" },
                body: JSON.stringify({ keys: [EC_KEY] }),
              },
      ),
    );
    const replaced = sameAddress(server.origin);
    const shown = `signpost check ${replaced[server.origin]} --findings`;
    const { code } = await expectTranscript("check-findings", ["check", server.origin, "--findings"], {
      replaced,
      shown,
    });
    expect(code).toBe(1);
  });
});

test("an OP with faults", async () => {
  const server = await serve((metadata) =>
    changed(
      op({
        metadata: { ...metadata, issuer: "https://other.example", id_token_signing_alg_values_supported: ["RS256"] },
        keys: [
          { ...EC_KEY, d: "c2VjcmV0" },
          { ...ED_KEY, kid: "\u001b]0;owned\u0007\u009b1m" },
          { ...EC_KEY, kid: undefined, x: EC_KEY.y },
        ],
        headers: { etag: undefined, "cache-control": "max-age=604800, immutable", "content-type": "text/plain" },
      }),
      ({ method }) => method !== "GET",
      () => ({ status: 404, headers: {} }),
    ),
  );
  const { code, stdout, stderr } = await check(server.origin);
  expect(masked(stdout)).toMatchSnapshot();
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).not.toContain("c2VjcmV0");
  // No character that a terminal obeys, whatever the OP sent.
  expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});

describe("no report", () => {
  it("when nothing listens", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const [text, json] = await Promise.all([check(url), check(url, "--json")]);
    expect(text).toEqual({ code: 3, stdout: "", stderr: `error ${url}: no connection (ECONNREFUSED)\n` });
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      3,
      { error: { code: "unreachable", message: `${url}: no connection (ECONNREFUSED)` } },
    ]);
  });

  it("when the name does not exist", async () => {
    const { code, stderr } = await check("https://signpost.invalid");
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(
        /^error https:\/\/signpost\.invalid: the host name was not found \((?:ENOTFOUND|EAI_AGAIN)\)\n$/,
      ),
    ]);
  });

  it("over plain HTTP to another host", async () => {
    const { code, stderr } = await check("http://signpost.invalid/jwks");
    expect([code, stderr]).toEqual([
      3,
      "error http://signpost.invalid/jwks: not asked: plain HTTP (--allow-http asks anyway)\n",
    ]);
  });

  it.each([
    [["https://user:hunter2@op.example"], "url: expected a URL without credentials"],
    [["https://op.example", "--strikt"], "strikt"],
    [[], "url"],
  ])("for the arguments %j", async (args, message) => {
    const { code, stdout, stderr } = await check(...args);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
    expect(stderr).not.toContain("hunter2");
  });
});

test("a certificate that relying parties refuse is a finding, and one that they trust is not", async () => {
  const certificate = selfSignedCertificate("localhost");
  const folder = await temporaryFolder();
  await writeFile(join(folder, "ca.pem"), certificate.cert);
  const url = `https://localhost:${await serveTls(certificate)}/jwks`;
  const trusting = { env: { NODE_EXTRA_CA_CERTS: join(folder, "ca.pem") } };
  const [refused, trusted, named] = await Promise.all([
    check(url),
    runCli(["check", url], trusting),
    runCli(["check", url.replace("localhost", "127.0.0.1")], trusting),
  ]);
  expect([refused.code, refused.stdout]).toEqual([
    1,
    expect.stringMatching(/MUST +certificate [^→]*DEPTH_ZERO_SELF_SIGNED_CERT/),
  ]);
  expect([trusted.code, trusted.stdout]).toEqual([0, expect.stringMatching(/note +certificate [^→]*ends in 0 days/)]);
  expect([named.code, named.stdout]).toEqual([1, expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID")]);
});

test("no configuration is loaded", async () => {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, "signpost.config.mjs"),
    'import { writeFileSync } from "node:fs"; writeFileSync("loaded", "");',
  );
  const server = await serveSignpost();
  const { code } = await runCli(["check", server.origin], { cwd: folder });
  expect([code, existsSync(join(folder, "loaded"))]).toEqual([0, false]);
});

describe("replicas", () => {
  it("that are equal, by URL and by address", async () => {
    const keys = createKeySet([{ signer: await signer() }]);
    const [a, b] = [await serveSignpost(keys), await serveSignpost(keys)];
    const address = new URL(b.origin).host;
    const { code, stdout } = await check(a.origin, "--replicas", `${a.origin},${b.jwksUri},${address}`);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/✓ +replica-bytes/)]);
    expect(b.requests.map(({ headers }) => headers.host)).toEqual([address, new URL(a.origin).host]);
  });

  it("that differ, and one that is away", async () => {
    const [a, b] = [await serveSignpost(), await serveSignpost()];
    const away = `127.0.0.1:${await freePort()}`;
    const { code, stdout } = await check(a.origin, "--replicas", `${a.origin},${b.origin},${away}`, "--json");
    const { rows } = JSON.parse(stdout) as {
      readonly rows: readonly { readonly rule: string; readonly verdict: string }[];
    };
    const verdicts = rows.filter(({ rule }) => rule.startsWith("replica-")).map(({ rule, verdict }) => [rule, verdict]);
    expect([code, Object.fromEntries(verdicts)]).toEqual([
      1,
      {
        "replica-answers": "must",
        "replica-keys": "must",
        "replica-bytes": "should",
        "replica-etag": "should",
        "replica-lifetime": "ok",
      },
    ]);
  });
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-check-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}
