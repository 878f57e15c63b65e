import { setTimeout as pause } from "node:timers/promises";
import {
  ConfigurationError,
  guardSigner,
  SignerError,
  type GuardedSigner,
  type GuardPolicy,
  type JwkInput,
  type Signer,
} from "@signpost/core";
import { assertPolicy, createSigner, endedError, p256JwkFrom, readMilliseconds } from "@signpost/core/adapter";
import { readPublicKey, readSignature, type OpenedKey } from "./answers.ts";
import { apiFromClient, type KmsApi, type KmsClientLike } from "./api.ts";
import { callKms, withinDeadline } from "./call.ts";
import { parseEndpoint, type KmsEndpoint } from "./endpoint.ts";
import { parseKeyId, regionIn } from "./key-id.ts";
import { openOwnClient, type KmsConnection } from "./own-client.ts";
import { formatKmsUri, parseRegion } from "./uri.ts";

/** How KMS is reached. Without any of it: a client of our own, with the SDK's default credentials and region. */
export interface AwsKmsConnectionOptions {
  /**
   * A `KMSClient` of yours, used as it is: its retries stay, inside our deadline (set `maxAttempts: 1`), and so do its
   * credentials, Region and endpoint. It is not destroyed by `close()`.
   */
  readonly client?: KmsClientLike | undefined;
  /** Another transport than the SDK. */
  readonly api?: KmsApi | undefined;
  /** Of our own client. Default: the Region in `keyId`, else the SDK's own search. */
  readonly region?: string | undefined;
  /** Of our own client: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface. */
  readonly endpoint?: string | undefined;
}

export interface AwsKmsSignerOptions extends AwsKmsConnectionOptions {
  /**
   * Key id, key ARN, `alias/NAME` or alias ARN, in the case in which it was given. An alias is resolved once, now: the
   * signer stays with that key.
   */
  readonly keyId: string;
  /**
   * The key's public half, as JWK or SPKI PEM, together with the key ARN: opening then makes no call, and `signWith`
   * proves it by the first signature. For cold starts, and for starting while KMS is away.
   */
  readonly publicKey?: JwkInput | string | undefined;
  /** Bound of opening, every attempt included. Milliseconds, default the policy's `deadlineMs`, 5000. */
  readonly openDeadlineMs?: number | undefined;
  /** Queue, attempts and deadline; `maxAttempts` bounds opening too. `false` opens the bare signer. */
  readonly policy?: GuardPolicy | false | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens a signer on one key of AWS KMS: spec ECC_NIST_P256, usage SIGN_VERIFY. Needs `kms:GetPublicKey` (unless the
 * public key is given) and `kms:Sign`.
 *
 * ```ts
 * import { openAwsKmsSigner } from "@signpost/aws-kms";
 *
 * await using signer = await openAwsKmsSigner({ keyId: "alias/op-2026", region: "eu-west-1" });
 * ```
 *
 * @throws ConfigurationError for options that do not fit together; SignerError `key_not_found`, `key_disabled`,
 * `access_denied`, `unsupported_key`, `wrong_key`, `integrity`, and transient ones when the deadline is over.
 */
export function openAwsKmsSigner(options: AwsKmsSignerOptions & { readonly policy: false }): Promise<Signer>;
export function openAwsKmsSigner(
  options: AwsKmsSignerOptions & { readonly policy?: GuardPolicy | undefined },
): Promise<GuardedSigner>;
export function openAwsKmsSigner(options: AwsKmsSignerOptions): Promise<Signer>;
export async function openAwsKmsSigner(options: AwsKmsSignerOptions): Promise<Signer> {
  const plan = planOpening(options);
  const { api, close } = await connect(options, plan);
  try {
    if (options.signal?.aborted === true) throw endedError(options.signal.reason);
    const { keyArn, publicKey } = plan.pinned ?? (await readKey(api, options, plan));
    const signer = createSigner({
      uri: formatKmsUri(keyArn, plan.endpoint),
      publicKey,
      signDigest: (digest, { signal }) => signDigest(api, keyArn, digest, signal),
      close: async () => close(),
    });
    const notes = plan.pinned === undefined ? [] : ["the public key was given, not fetched"];
    return plan.policy === false ? signer : guardSigner(signer, plan.policy, { notes });
  } catch (error) {
    close();
    throw error;
  }
}

interface Plan {
  readonly policy: GuardPolicy | false;
  readonly deadlineMs: number;
  readonly maxAttempts: number;
  readonly pinned: OpenedKey | undefined;
  readonly region: string | undefined;
  readonly endpoint: KmsEndpoint | undefined;
}

/** Everything that can be refused before anything is opened. */
function planOpening(options: AwsKmsSignerOptions): Plan {
  const name = parseKeyId("keyId", options.keyId);
  const policy = options.policy ?? {};
  assertPolicy(policy);
  const { deadlineMs = 5000, maxAttempts = 3 }: GuardPolicy = policy === false ? {} : policy;
  const region = options.region === undefined ? undefined : parseRegion("region", options.region);
  const keyRegion = regionIn(name);
  if (region !== undefined && keyRegion !== undefined && region !== keyRegion) {
    throw new ConfigurationError("region", `expected ${keyRegion}, the Region in keyId`);
  }
  if (options.publicKey !== undefined && name.kind !== "key-arn") {
    throw new ConfigurationError("keyId", "expected the key ARN beside publicKey, since nothing is looked up");
  }
  return {
    policy,
    deadlineMs: readMilliseconds("openDeadlineMs", options.openDeadlineMs ?? deadlineMs),
    maxAttempts,
    pinned:
      options.publicKey === undefined
        ? undefined
        : { keyArn: options.keyId, publicKey: p256JwkFrom(options.publicKey, "publicKey") },
    region: region ?? keyRegion,
    endpoint: options.endpoint === undefined ? undefined : parseEndpoint("endpoint", options.endpoint),
  };
}

async function connect(options: AwsKmsSignerOptions, { region, endpoint, policy }: Plan): Promise<KmsConnection> {
  const { client, api } = options;
  if (client === undefined && api === undefined) return openOwnClient({ region, endpoint, policy });
  if (client !== undefined && api !== undefined) throw new ConfigurationError("api", "expected either api or client");
  const given = client === undefined ? "api" : "client";
  for (const name of ["region", "endpoint"] as const) {
    if (options[name] !== undefined)
      throw new ConfigurationError(name, `expected none beside ${given}, which has its own`);
  }
  return { api: api === undefined ? await portOf(client) : checkedApi(api), close: () => undefined };
}

function checkedApi(api: KmsApi): KmsApi {
  if (typeof api?.getPublicKey === "function" && typeof api.sign === "function") return api;
  throw new ConfigurationError("api", "expected a KmsApi: getPublicKey and sign");
}

function portOf(client: KmsClientLike | undefined): Promise<KmsApi> {
  if (typeof client?.send !== "function") throw new ConfigurationError("client", "expected a KMSClient");
  return apiFromClient(client);
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

/** Asks for the public key, and again after a failure that passes, in the bounds that the policy sets for a signature. */
function readKey(api: KmsApi, options: AwsKmsSignerOptions, plan: Plan): Promise<OpenedKey> {
  return withinDeadline(plan.deadlineMs, options.signal, async (signal) => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await getPublicKey(api, options.keyId, signal);
      } catch (error) {
        const passes = error instanceof SignerError && error.transient;
        if (!passes || attempts >= plan.maxAttempts || signal.aborted) throw error;
      }
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** (attempts - 1), MAX_PAUSE_MS), undefined, { signal });
    }
  });
}

async function getPublicKey(api: KmsApi, keyId: string, signal: AbortSignal): Promise<OpenedKey> {
  const answer = await callKms("kms:GetPublicKey", signal, () => api.getPublicKey({ KeyId: keyId }, { signal }));
  return readPublicKey(answer, keyId);
}

async function signDigest(
  api: KmsApi,
  keyArn: string,
  digest: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  const answer = await callKms("kms:Sign", signal, () => api.sign(input, { signal }));
  return readSignature(answer, keyArn);
}
