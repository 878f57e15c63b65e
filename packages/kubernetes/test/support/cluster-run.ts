import { connectTo } from "./grpc-client.ts";
import { ISSUER } from "./claims.ts";
import { type KubeClient, startKubeClient } from "@signpost/test-backends/kube-client";
import { createPublicKey } from "node:crypto";
import { createLocalJWKSet, exportJWK, jwtVerify } from "jose";
import { privateFolder } from "./private-folder.ts";
import { type RunningSigner, startReady } from "./run-signer.ts";

/** Three keys of one backend, and how the program opens them. */
export interface ClusterKeys {
  readonly uris: readonly [first: string, second: string, third: string];
  readonly adapters?: Readonly<Record<string, unknown>> | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** What came of a run. */
export interface ClusterRun {
  /** Tokens by the kid in their header. */
  readonly tokens: Readonly<Record<"first" | "second" | "third", readonly string[]>>;
  /** Why tokens were not made, other than during `kill -9`. */
  readonly errors: readonly string[];
  /** Why tokens were not made while the signer was killed. */
  readonly errorsOfKill: readonly string[];
  /** Why kube-apiserver's own verification refuses tokens, by the kid. */
  readonly refused: Readonly<Record<"first" | "second" | "third", readonly string[]>>;
}

const HOUR_MS = 3_600_000;

/** Long enough for the start, and for tokens of the first key. */
const UNTIL_ROTATION_MS = 6000;

/**
 * Asks for `count` tokens as kube-apiserver does: over a planned rotation from the first key to the second, an emergency in which the
 * second is revoked and the third signs, a restart, and a `kill -9`.
 */
export async function runCluster({ uris, adapters, env }: ClusterKeys, count: number): Promise<ClusterRun> {
  await using folder = await privateFolder();
  const [first, second, third] = uris;
  const rotation = Date.now() + UNTIL_ROTATION_MS;
  const at = (ms: number): string => new Date(ms).toISOString();
  const long = at(rotation - 24 * HOUR_MS);
  const entry = (keyId: string, signer: string, activeFrom: string, more: object = {}): object => ({
    keyId,
    signer,
    announcedFrom: long,
    activeFrom,
    ...more,
  });
  const configure = (entries: readonly object[]): Promise<string> =>
    folder.write("config.json", {
      issuer: ISSUER,
      socket: { path: folder.at("signer.sock") },
      maxTokenLifetimeSeconds: 3600,
      refreshHintSeconds: 1,
      schedule: { entries },
      ...(adapters === undefined ? {} : { adapters }),
    });
  const config = await configure([entry("first", first, long), entry("second", second, at(rotation))]);

  const errors: string[] = [];
  const errorsOfKill: string[] = [];
  const tokens: string[] = [];
  const part = Math.ceil(count / 10);
  let signer: RunningSigner = await startReady(config, env);
  await using kube = await startKubeClient(folder.at("signer.sock"), ISSUER);
  const ask = async (howMany: number, failures: string[] = errors): Promise<void> => {
    const made = await kube.generate({ count: howMany, concurrency: 16 });
    tokens.push(...made.tokens);
    failures.push(...made.errors);
  };
  try {
    // Over the rotation: at least a part before it, and then until the second key has signed.
    do await ask(part);
    while (kidOf(tokens.at(-1)) === "first");
    await ask(part);

    // The emergency: the second key is not trusted from now on.
    const emergencyAt = at(Date.now());
    await configure([entry("first", first, long), entry("third", third, at(rotation), { emergencyAt })]);
    await signer.log.next("loaded");
    signer.child.kill("SIGHUP");
    await signer.log.next("loaded");
    await ask(part);

    // A restart: what asks meanwhile waits.
    const over = ask(3 * part);
    const code = await signer.stop();
    if (code !== 0) throw new Error(`the signer ended with ${code}`);
    signer = await startReady(config, env);
    await over;

    // A death: what was in the signer is lost, and nothing else.
    const killed = ask(part, errorsOfKill);
    await signer.stop("SIGKILL");
    signer = await startReady(config, env);
    await killed;
    while (tokens.length < count) await ask(Math.min(part, count - tokens.length));

    await requireVerified(folder.at("signer.sock"), tokens);
    return { ...(await judge(kube, tokens)), errors, errorsOfKill };
  } finally {
    await signer[Symbol.asyncDispose]();
  }
}

/** What kube-apiserver thinks of the tokens of each key. */
async function judge(kube: KubeClient, tokens: readonly string[]): Promise<Pick<ClusterRun, "tokens" | "refused">> {
  const of = (keyId: string): readonly string[] => tokens.filter((token) => kidOf(token) === keyId);
  const refusals = async (list: readonly string[]): Promise<readonly string[]> =>
    [...new Set(await kube.verify(list))].filter((reason) => reason !== "");
  const byKey = { first: of("first"), second: of("second"), third: of("third") };
  const { first, second, third } = byKey;
  const refused = { first: await refusals(first), second: await refusals(second), third: await refusals(third) };
  return { tokens: byKey, refused };
}

/** Each token that a published key has signed also verifies with jose. */
async function requireVerified(socket: string, tokens: readonly string[]): Promise<void> {
  const client = connectTo(socket);
  const { keys } = await client.fetchKeys();
  client.close();
  const jwks = await Promise.all(
    keys.map(async ({ keyId, key }) => ({
      ...(await exportJWK(createPublicKey({ key, format: "der", type: "spki" }))),
      kid: keyId,
    })),
  );
  const published = new Set(keys.map(({ keyId }) => keyId));
  const set = createLocalJWKSet({ keys: jwks });
  for (const token of tokens) if (published.has(kidOf(token))) await jwtVerify(token, set, { issuer: ISSUER });
}

function kidOf(token: string = ""): string {
  const [header = ""] = token.split(".");
  return (JSON.parse(Buffer.from(header, "base64url").toString()) as { readonly kid: string }).kid;
}
