import { readFile } from "node:fs/promises";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { KMSClient } from "@aws-sdk/client-kms";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createKeySet, createLimiter, guardSigner, signJwt, type GuardedSigner, SignerError } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { openLocalSigner } from "@signpost/local";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { auditKms, auditSigning, correlationIdOf, requests } from "./support/audit-recipe.ts";
import { recordSigning } from "./support/otel-recipe.ts";

const claims = { sub: "248289", email: "jane@example.com" };

describe("the recipe for OpenTelemetry", () => {
  let exporter: InMemoryMetricExporter;
  let provider: MeterProvider;
  let signer: GuardedSigner;
  let failures: SignerError[];
  let stop: () => void;

  beforeEach(async () => {
    exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    provider = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    });
    const bare = await openLocalSigner({ policy: false });
    failures = [];
    signer = guardSigner({
      ...bare,
      sign: (digest, options) => {
        const failure = failures.shift();
        return failure === undefined ? bare.sign(digest, options) : Promise.reject(failure);
      },
    });
    stop = recordSigning(provider.getMeter("op"), [signer]);
  });
  afterEach(async () => {
    stop();
    await provider.shutdown();
    await signer.close();
  });

  /** What a backend of metrics gets: name, labels, and the value, of a histogram its count. */
  async function exported(): Promise<(readonly [string, object, number])[]> {
    exporter.reset();
    await provider.forceFlush();
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    return metrics.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => {
        return [descriptor.name, attributes, typeof value === "number" ? value : value.count] as const;
      }),
    );
  }

  test("counts signatures, failures by code and retries, and shows each key's health", async () => {
    const key = { "signpost.key": signer.uri };
    const keys = createKeySet([{ signer }]);
    await signJwt(keys, claims);
    failures = [new SignerError("throttled", "once", { transient: true })];
    await signJwt(keys, claims);
    expect(await exported()).toEqual([
      ["signpost.sign.duration", key, 2],
      ["signpost.sign.queue", key, 2],
      ["signpost.sign.retries", key, 1],
      ["signpost.signer.ready", key, 1],
    ]);

    failures = [new SignerError("access_denied", "for good")];
    await expect(signJwt(keys, claims)).rejects.toThrow("for good");
    const after = await exported();
    expect(after).toContainEqual(["signpost.sign.duration", { ...key, "error.type": "access_denied" }, 1]);
    expect(after).toContainEqual(["signpost.signer.ready", key, 0]);
    expect(JSON.stringify(after)).not.toContain("jane");
  });

  test("counts hedges, by whether they answered first", async () => {
    const bare = await openLocalSigner({ policy: false });
    let hangs = false;
    const late = guardSigner(
      {
        ...bare,
        uri: "late:key",
        sign: (digest, options) => {
          if (!hangs) return bare.sign(digest, options);
          hangs = false;
          return new Promise((_resolve, reject) => {
            options?.signal?.addEventListener("abort", () => reject(new SignerError("aborted", "aborted")));
          });
        },
      },
      { hedgeAfterMs: 20 },
    );
    for (let made = 0; made < 20; made += 1) await late.sign(new Uint8Array(32));
    hangs = true;
    await late.sign(new Uint8Array(32));
    const labels = { "signpost.key": "late:key", "signpost.hedge.won": true };
    expect(await exported()).toContainEqual(["signpost.sign.hedges", labels, 1]);
    await late.close();
  });

  test("stops when it is told", async () => {
    stop();
    await signJwt(createKeySet([{ signer }]), claims);
    expect((await exported()).map(([name]) => name)).not.toContain("signpost.sign.duration");
  });
});

describe("the recipe for audit logs", () => {
  test("each signature has the id of its request, also of those that waited in one queue", async () => {
    const lines: Readonly<Record<string, unknown>>[] = [];
    const stop = auditSigning((line) => lines.push(line));
    const limiter = createLimiter({ concurrency: 1, maxQueue: 100 });
    const tenants = await Promise.all(Array.from({ length: 20 }, () => openLocalSigner({ policy: { limiter } })));
    await Promise.all(
      tenants.map((signer, index) =>
        requests.run({ correlationId: `request-${index}` }, () => signJwt(createKeySet([{ signer }]), claims)),
      ),
    );
    stop();
    const expected = tenants.map(({ uri }, index) => ({ correlationId: `request-${index}`, uri, attempts: 1 }));
    expect(lines.toSorted((a, b) => numberOf(a) - numberOf(b))).toMatchObject(expected);
    expect(JSON.stringify(lines)).not.toContain("jane");
  });

  test("each call of AWS KMS has it too, with the id of that call in CloudTrail", async () => {
    const fake = await startFakeAwsKms();
    onTestFinished(() => fake.stop());
    const lines: Readonly<Record<string, unknown>>[] = [];
    const { region, endpoint, credentials } = fake;
    const client = new KMSClient({ region, endpoint, credentials, maxAttempts: 1 });
    auditKms(client, (line) => lines.push(line));
    const signer = await openAwsKmsSigner({ key: fake.addKey().arn, client, policy: { concurrency: 1 } });
    const keys = createKeySet([{ signer }]);
    fake.faults.next("throttle", 1, "Sign");
    await requests.run({ correlationId: "first" }, () => signJwt(keys, claims));
    await Promise.all(
      ["second", "third"].map((correlationId) => requests.run({ correlationId }, () => signJwt(keys, claims))),
    );
    await signer.close();
    client.destroy();
    const id: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(lines).toEqual([
      { operation: "GetPublicKeyCommand", kmsRequestId: id },
      { correlationId: "first", operation: "SignCommand", kmsRequestId: id, error: "ThrottlingException" },
      { correlationId: "first", operation: "SignCommand", kmsRequestId: id },
      { correlationId: "second", operation: "SignCommand", kmsRequestId: id },
      { correlationId: "third", operation: "SignCommand", kmsRequestId: id },
    ]);
    expect(new Set(lines.map(({ kmsRequestId }) => kmsRequestId)).size).toBe(lines.length);
  });

  test.each([
    ["req-1", "req-1"],
    ["a b", "new"],
    ["x".repeat(65), "new"],
    [undefined, "new"],
  ])("a caller's id %j is written as %s", (given, expected) => {
    const request = { headers: { "x-request-id": given } } as never;
    expect(correlationIdOf(request, () => "new")).toBe(expected);
  });
});

test.each(["otel-recipe.ts", "audit-recipe.ts"])("docs/monitoring.md shows %s as it was run here", async (name) => {
  const guide = await readFile(new URL("../../docs/monitoring.md", import.meta.url), "utf8");
  const recipe = await readFile(new URL(`support/${name}`, import.meta.url), "utf8");
  expect(guide).toContain(`\`\`\`ts\n${recipe}\`\`\`\n`);
});

function numberOf({ correlationId }: Readonly<Record<string, unknown>>): number {
  return Number(String(correlationId).replace("request-", ""));
}
