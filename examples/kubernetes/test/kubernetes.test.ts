import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { emergencyRotation, openSigner } from "@signpost/core";
import { awsKms, type AwsKmsApi } from "@signpost/aws-kms";
import { openLocalSigner } from "@signpost/local";
import { createMemoryReplayStore } from "@signpost/verify";
import { type RunningOp, startOp } from "@signpost/example-minimal-op/op";
import {
  type OpenKey,
  openSchedule,
  type Schedule,
  type ScheduledKey,
  SIGNING_DEADLINE_MS,
} from "@signpost/example-minimal-op/schedule";
import { readSettings } from "@signpost/example-minimal-op/settings";
import { type Container, find, type Manifest, podOf, type PodSpec, type Probe, readManifests } from "./manifests.ts";

const NGINX_FILES = new URL("../../nginx/", import.meta.url);

let manifests: ReadonlyMap<string, readonly Manifest[]>;
let pod: PodSpec & { readonly container: Container };
let config: Manifest;
let schedule: Schedule;

beforeAll(async () => {
  manifests = await readManifests();
  pod = podOf(find(manifests, "Deployment", "op"));
  const volume = pod.volumes?.find(({ name }) => name === "schedule");
  config = find(manifests, "ConfigMap", volume?.configMap?.name ?? "");
  schedule = JSON.parse(config.data?.["schedule.json"] ?? "") as Schedule;
});

/** The container's environment, without the secret. */
function settings(): ReturnType<typeof readSettings> {
  const values = (pod.container.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
  return readSettings(Object.fromEntries(values) as NodeJS.ProcessEnv);
}

function probes(): readonly Probe[] {
  const { startupProbe, readinessProbe, livenessProbe } = pod.container;
  const all = [startupProbe, readinessProbe, livenessProbe].filter((probe) => probe !== undefined);
  expect(all).toHaveLength(3);
  return all;
}

/** Software keys instead of the keys in the KMS. */
const openLocal: OpenKey = (_uri, policy) => openLocalSigner({ policy });
const at = (moment: string | undefined, hours: number) => () => Date.parse(moment ?? "") + hours * 3_600_000;

test("a revoked key leaves every cache: each has its own copy, in a volume that ends with its pod", async () => {
  const cache = find(manifests, "Deployment", "op-cache");
  expect(cache.spec?.replicas).toBeGreaterThan(1);
  expect(podOf(cache).volumes).toContainEqual(expect.objectContaining({ name: "tmp", emptyDir: expect.anything() }));
  for (const page of ["../README.md", "../../../docs/emergency.md"]) {
    expect(await readFile(new URL(page, import.meta.url), "utf8")).toContain(
      "kubectl rollout restart deployment/op-cache",
    );
  }
});

describe("the manifests", () => {
  test("are objects of Kubernetes, all of them applied", () => {
    const all = [...manifests.values()].flat();
    expect(all.every(({ apiVersion, kind }) => typeof apiVersion === "string" && typeof kind === "string")).toBe(true);
    const [kustomization] = manifests.get("kustomization.yaml") ?? [];
    expect([...(kustomization?.resources ?? []), "kustomization.yaml"].toSorted()).toEqual(
      [...manifests.keys()].toSorted(),
    );
  });

  test("run several replicas of everything, and never less than that in a rollout", () => {
    const deployments = [...manifests.values()].flat().filter(({ kind }) => kind === "Deployment");
    expect(deployments.map(({ spec }) => spec?.replicas ?? 1).every((replicas) => replicas >= 2)).toBe(true);
    expect(find(manifests, "Deployment", "op").spec?.strategy?.rollingUpdate?.maxUnavailable).toBe(0);
  });

  test.each(["op", "op-cache"])("a drain of nodes takes one replica of %s at a time", (name) => {
    const { spec } = find(manifests, "PodDisruptionBudget", name);
    expect(spec?.maxUnavailable).toBe(1);
    const { matchLabels } = find(manifests, "Deployment", name).spec?.selector ?? {};
    expect(spec?.selector?.matchLabels).toEqual(matchLabels);
    const [spread] = podOf(find(manifests, "Deployment", name)).topologySpreadConstraints ?? [];
    expect(spread?.labelSelector.matchLabels).toEqual(matchLabels);
  });

  // https://kubernetes.io/docs/concepts/security/pod-security-standards/
  test.each(["op", "op-cache"])(
    "%s runs under the restricted pod security standard, and writes to no image",
    (name) => {
      const [namespace] = manifests.get("namespace.yaml") ?? [];
      expect(namespace?.metadata.labels).toEqual({ "pod-security.kubernetes.io/enforce": "restricted" });
      const { securityContext, container, volumes, automountServiceAccountToken } = podOf(
        find(manifests, "Deployment", name),
      );
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      expect(securityContext?.["runAsUser"]).toBeGreaterThan(0);
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      for (const volume of volumes ?? []) expect(Object.keys(volume)[1]).toMatch(/^(configMap|emptyDir)$/);
      expect(automountServiceAccountToken).toBe(false);
    },
  );

  test.each(["op", "op-cache"])("the Service %s leads to its pods", (name) => {
    const { spec } = find(manifests, "Service", name);
    const deployment = find(manifests, "Deployment", name).spec;
    expect(deployment?.template?.metadata.labels).toMatchObject(spec?.selector ?? { missing: true });
    expect(deployment?.selector?.matchLabels).toEqual(deployment?.template?.metadata.labels);
    const ports = podOf(find(manifests, "Deployment", name)).container.ports.map((port) => port.name);
    expect(ports).toContain(spec?.ports?.[0]?.targetPort);
  });

  test("contain no secret: secrets come from a Secret that is not among them", async () => {
    const all = [...manifests.values()].flat();
    expect(all.map(({ kind }) => kind)).not.toContain("Secret");
    const text = JSON.stringify(all);
    expect(text).not.toMatch(/PRIVATE KEY|\\"d\\":|pin-value|AKIA[0-9A-Z]{16}|:\/\/[^/"\s]*:[^/"\s]*@/i);
    const named = (pod.container.env ?? []).filter(({ name }) => /URL|PASSWORD|TOKEN|KEY|PIN/.test(name));
    expect(named).toEqual([{ name: "REDIS_URL", valueFrom: { secretKeyRef: { name: "op-redis", key: "url" } } }]);
  });
});

describe("the schedule in the ConfigMap", () => {
  test("is mounted where the container reads it, and never changes under its name", () => {
    const mount = pod.container.volumeMounts.find(({ name }) => name === "schedule");
    const { scheduleFile, clientsFile } = settings();
    const files = Object.keys(config.data ?? {}).map((name) => `${mount?.mountPath}/${name}`);
    expect(files.toSorted()).toEqual([clientsFile, scheduleFile].toSorted());
    expect(config.immutable).toBe(true);
  });

  test("is legal: each key signs in its turn, and the next is announced in time for every cache", async () => {
    const uris: string[] = [];
    for (const { uri, activeFrom } of schedule.keys) {
      const opened = await openSchedule(schedule, openLocal, at(activeFrom, 1));
      const { active } = opened.schedule.keySet();
      const index = opened.signers.findIndex((signer) => signer === active.signer);
      expect(schedule.keys[index]?.uri).toBe(uri);
      uris.push(uri ?? "");
      await Promise.all(opened.signers.map((signer) => signer.close()));
    }
    expect(new Set(uris).size).toBe(schedule.keys.length);
  });

  test("is refused if a key signs before caches have it", async () => {
    const [first, next] = schedule.keys;
    if (first === undefined || next === undefined) throw new Error("expected two keys");
    const early = { ...next, activeFrom: new Date(at(next.announcedFrom, 3)()).toISOString() };
    const opening = openSchedule({ ...schedule, keys: [first, early] }, openLocal, at(first.activeFrom, 1));
    await expect(opening).rejects.toThrow(/entries\[1\]\.activeFrom: expected .* or later/);
  });

  test("may be what emergencyRotation returns for a stolen key", async () => {
    const [{ activeFrom } = { activeFrom: "" }] = schedule.keys;
    const [stolen, fresh] = [await openLocalSigner(), await openLocalSigner()];
    const now = at(activeFrom, 24);
    const { entries } = emergencyRotation(
      [{ keyId: "stolen", signer: stolen, announcedFrom: activeFrom, activeFrom }],
      {
        revokedKeyId: "stolen",
        at: new Date(now()),
        replacement: { keyId: "fresh", signer: fresh },
      },
    );
    const written = JSON.parse(JSON.stringify(entries)) as readonly ScheduledKey[];
    const keys = written.map((dates) => ({ ...dates, uri: "local:" }));
    const opened = await openSchedule({ ...schedule, keys }, openLocal, now);
    expect(opened.schedule.keySet().keys).toHaveLength(1);
    expect(opened.schedule.jwksRotationActive()).toBe(true);
    await Promise.all(opened.signers.map((signer) => signer.close()));
  });

  test("names keys in AWS KMS by URIs that the adapter opens, each with a Region", async () => {
    const api: AwsKmsApi = {
      getPublicKey: async ({ KeyId }) => ({
        KeyId,
        KeySpec: "ECC_NIST_P256",
        KeyUsage: "SIGN_VERIFY",
        SigningAlgorithms: ["ECDSA_SHA_256"],
        PublicKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "der" }),
      }),
      sign: () => Promise.reject(new Error("nothing is signed here")),
    };
    for (const { uri = "" } of schedule.keys) {
      await using signer = await openSigner(uri, [awsKms({ api })]);
      expect(signer.uri).toBe(uri);
    }
  });
});

describe("probes and shutdown", () => {
  let op: RunningOp | undefined;
  afterEach(() => op?.close());

  test("every probe is answered by the OP, and the first one signs once", async () => {
    let signatures = 0;
    const counted: OpenKey = async (uri, policy) => {
      const signer = await openLocal(uri, policy);
      return {
        ...signer,
        sign: (...call) => {
          signatures += 1;
          return signer.sign(...call);
        },
      };
    };
    const { issuer } = settings();
    const opened = await openSchedule(schedule, counted, at(schedule.keys[0]?.activeFrom, 1));
    const replayStore = createMemoryReplayStore();
    op = await startOp({ issuer, port: 0, opened, tokenLifetimeSeconds: 60, clients: {}, replayStore, drainMs: 0 });
    for (const { httpGet } of probes()) {
      expect(pod.container.ports).toContainEqual({ name: httpGet.port, containerPort: settings().port });
      expect((await fetch(`http://127.0.0.1:${op.port}${httpGet.path}`)).status).toBe(200);
    }
    expect(signatures).toBe(1);
  });

  test("the timeout of a probe is longer than a signature may take", () => {
    for (const { timeoutSeconds } of probes()) expect(timeoutSeconds * 1000).toBeGreaterThan(SIGNING_DEADLINE_MS);
  });

  test("the liveness probe checks nothing that a restart would not fix", () => {
    expect(pod.container.livenessProbe?.httpGet.path).not.toBe(pod.container.readinessProbe?.httpGet.path);
  });

  test("a replica that shuts down is seen as not ready, finishes its signatures, and is not killed before that", () => {
    const { periodSeconds = 0, failureThreshold = 0 } = pod.container.readinessProbe ?? {};
    const { drainMs } = settings();
    expect(drainMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
    expect((pod.terminationGracePeriodSeconds ?? 0) * 1000).toBeGreaterThan(drainMs + SIGNING_DEADLINE_MS);
  });
});

describe("the shared cache", () => {
  test.each(["jwks-http.conf", "jwks-server.conf"])("has %s of examples/nginx, byte for byte", async (name) => {
    const conf = find(manifests, "ConfigMap", "op-cache").data?.[name];
    expect(conf).toBe(await readFile(new URL(name, NGINX_FILES), "utf8"));
  });
});
