import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

/** What the tests read of a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly resources?: readonly string[];
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Spec;
}

type Fields = Readonly<Record<string, unknown>>;

interface Spec {
  readonly replicas?: number;
  readonly maxUnavailable?: number;
  readonly strategy?: { readonly rollingUpdate?: { readonly maxUnavailable?: number } };
  readonly selector?: Readonly<Record<string, unknown>> & { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly port: number; readonly targetPort: string }[];
  readonly template?: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: PodSpec;
  };
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly securityContext?: Fields;
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Fields } }[];
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}

export interface Container {
  readonly securityContext?: Fields;
  readonly command?: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: unknown }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly timeoutSeconds: number;
}

const FOLDER = fileURLToPath(new URL("..", import.meta.url));

/** Every manifest of the example, by its file. A file that is no YAML, or repeats a key, throws. */
export async function readManifests(): Promise<ReadonlyMap<string, readonly Manifest[]>> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".yaml"));
  const files = await Promise.all(
    names.map(async (name) => {
      const documents = parseAllDocuments(await readFile(FOLDER + name, "utf8"), { uniqueKeys: true });
      if (!Array.isArray(documents)) throw new Error(`${name} is empty`);
      return [name, documents.map((document) => readDocument(name, document))] as const;
    }),
  );
  return new Map(files);
}

function readDocument(name: string, document: { readonly errors: readonly Error[]; toJS(): unknown }): Manifest {
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`${name}: ${error.message}`);
  return document.toJS() as Manifest;
}

export function find(manifests: ReadonlyMap<string, readonly Manifest[]>, kind: string, name: string): Manifest {
  const found = [...manifests.values()].flat().find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

export function podOf({ spec, metadata }: Manifest): PodSpec & { readonly container: Container } {
  const pod = spec?.template?.spec;
  const container = pod?.containers[0];
  if (pod === undefined || container === undefined) throw new Error(`${metadata.name} has no container`);
  return { ...pod, container };
}
