import { KMSClient } from "@aws-sdk/client-kms";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKeySet, signJwt, type GuardedSigner } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { chosen } from "@signpost/test-backends/chosen";
import { dumpOf, ECHO_FORMS, ECHO_STATUSES, echoOf, startEchoProxy } from "@signpost/test-backends/echo-proxy";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedText } from "@signpost/test-backends/marked-secrets";
import { auditKms, auditSigning } from "./support/audit-recipe.ts";
import { recordSigning } from "./support/otel-recipe.ts";

// The code of the guides for metrics and for audit logs, while a proxy repeats what was sent: neither gets a part of a secret.

const sessionToken = markedText("the session token");
const claim = markedText("a claim");
const watch = watchLeaks([sessionToken, claim]);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const proxy = await startEchoProxy(fake.endpoint);

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
const provider = new MeterProvider({ readers: [reader] });
/** Long, so that a busy machine changes no result. */
const STEADY = { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 } as const;
const lines: object[] = [];
const ending: (() => unknown)[] = [];

beforeEach(() => {
  proxy.reset();
  exporter.reset();
  lines.length = 0;
});
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
  expect(watch.leaks()).toEqual([]);
});
afterAll(async () => {
  watch[Symbol.dispose]();
  await provider.shutdown();
  await proxy[Symbol.asyncDispose]();
  await fake.stop();
});

/** A signer whose signatures are measured and logged, as the guides do it. */
async function open(): Promise<GuardedSigner> {
  const credentials = { accessKeyId: "AKIA1", secretAccessKey: "marked", sessionToken: sessionToken.text };
  const client = new KMSClient({ region: fake.region, endpoint: proxy.url, credentials, maxAttempts: 1 });
  auditKms(client, (line) => lines.push(line));
  ending.push(auditSigning((line) => lines.push(line)));
  const signer = await openAwsKmsSigner({ key: key.arn, client, policy: STEADY });
  ending.push(
    recordSigning(provider.getMeter("op"), [signer]),
    () => signer.close(),
    () => client.destroy(),
  );
  return signer;
}

/** Signs, and searches what was exported and logged. Returns how many of each there were. */
async function signAndSearch(signer: GuardedSigner): Promise<{ readonly metrics: number; readonly lines: number }> {
  await signJwt(createKeySet([{ signer }]), { sub: claim.text }).catch(() => undefined);
  await provider.forceFlush();
  const exported = exporter.getMetrics();
  watch.saw(exported, "the exported metrics");
  watch.saw(lines, "the lines of the log");
  return { metrics: exported.flatMap(({ scopeMetrics }) => scopeMetrics).length, lines: lines.length };
}

const answer = (status: number, text: string) => {
  const header = text.replaceAll(/[^\x21-\x7e]+/g, " ").slice(0, 4000);
  const headers = { "x-amzn-requestid": header, "x-amzn-errortype": header, "x-amz-cf-id": header };
  return { status, headers, body: JSON.stringify({ __type: text, message: text }) };
};

test("a signature is measured and logged", async () => {
  expect(await signAndSearch(await open())).toMatchObject({ metrics: 1, lines: 3 });
});

describe("a proxy that repeats the request", () => {
  test.each(chosen(ECHO_STATUSES, 9))("with the status %i", async (status) => {
    const signer = await open();
    proxy.answer = (request) => answer(status, dumpOf(request));
    const seen = await signAndSearch(signer);
    expect(seen.metrics).toBe(1);
    expect(seen.lines).toBeGreaterThan(1);
  });

  test.each(Object.keys(ECHO_FORMS))("with the session token %s", async (form) => {
    const signer = await open();
    proxy.answer = () => answer(400, echoOf([sessionToken], form));
    const seen = await signAndSearch(signer);
    expect(seen.metrics).toBe(1);
    expect(seen.lines).toBeGreaterThan(1);
  });
});
