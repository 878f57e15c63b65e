import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { runCheck } from "../../src/check/run.ts";
import type { CheckFlags } from "../../src/check/run.ts";
import type { CliContext } from "../../src/program/context.ts";
import type { CheckReport } from "../../src/check/report.ts";
import { recordingContext } from "../support/recording-context.ts";
import { renderReport } from "../../src/check/render.ts";

// What needs no process.

/** A context for a command that is refused before it does anything. */
const context: CliContext = { ...recordingContext("/"), during: () => Promise.reject(new Error("a request was made")) };

test.each<readonly [string, CheckFlags, string]>([
  ["op.example", {}, "url: expected the https URL of an issuer or a key set"],
  ["https://op.example", { until: "a" }, "until: needs --watch"],
  ["https://op.example", { interval: 1 }, "interval: needs --watch"],
  ["https://op.example", { timeout: 0 }, "timeout: expected seconds from 0.1 to 60, got 0"],
  ["https://op.example", { timeout: Number.NaN }, "timeout: expected seconds from 0.1 to 60, got NaN"],
  ["https://op.example", { watch: true, interval: 7200 }, "interval: expected seconds from 0.1 to 3600, got 7200"],
  ["https://op.example", { replicas: "a" }, "replicas: expected"],
  ["https://op.example", { watch: true, replicas: "a:1,b:1" }, "replicas: cannot be used with --watch"],
])("%s with %j is refused before any request", async (url, flags, message) => {
  await expect(runCheck(context, flags, url)).rejects.toMatchObject({
    code: "invalid_configuration",
    message: expect.stringContaining(message) as string,
  });
});

test("a report in a narrow terminal: nothing is cut off", () => {
  const etag = `"${"0123456789abcdef".repeat(4)}"`;
  const report: CheckReport = {
    target: "https://op.example",
    jwksUrl: "https://op.example/jwks",
    unreachable: undefined,
    isOk: false,
    isStrict: false,
    rows: [
      { rule: "etag", title: "A strong ETag", clause: "RFC 9110 §8.8.3", verdict: "ok", seen: etag, findings: [] },
      {
        rule: "kid",
        title: "Every key has a kid",
        clause: "OIDC Core §10.1, another",
        verdict: "must",
        seen: "",
        findings: [
          { severity: "must", seen: "key 1 has no kid", advice: "Give it one." },
          { severity: "note", seen: "something else", advice: "Look at it." },
        ],
      },
      { rule: "use", title: "Use", clause: "RFC 7517 §4.2", verdict: "skipped", seen: "no set", findings: [] },
    ],
  };
  const text = renderReport(report, { colors: createColors(false), width: 60 });
  expect(text).toMatchInlineSnapshot(`
    "Key set https://op.example/jwks

    ✓     etag  RFC 9110 §8.8.3  A strong ETag:
                                 "0123456789abcdef0123456789abcd
                                 ef0123456789abcdef0123456789abc
                                 def"
    MUST  kid   OIDC Core §10.1  must: key 1 has no kid
                                 → Give it one.
                                 note: something else
                                 → Look at it.

    not checked: use (no set)

    1 MUST and 0 SHOULD broken, 1 note."
  `);
  expect(text.replaceAll(/\s/g, "")).toContain(etag);
  expect(renderReport(report, { colors: createColors(false), width: 60 }, true)).not.toContain("etag");
  expect(renderReport(report, { colors: createColors(true), width: 60 })).toContain("\u001b[31mMUST\u001b[39m");
});
