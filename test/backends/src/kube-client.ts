import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { cacheFolder } from "./process.ts";

/** Tokens that were asked for, and why others were not made. */
export interface GeneratedTokens {
  readonly tokens: readonly string[];
  /** The errors as Kubernetes words them. */
  readonly errors: readonly string[];
}

/** A verification key, as kube-apiserver has it. */
export interface KubeKey {
  readonly id: string;
  /** The type of Go: `*ecdsa.PublicKey`. */
  readonly type: string;
  readonly excluded: boolean;
}

/** What kube-apiserver does with an external signer, by its own code. */
export interface KubeClient extends AsyncDisposable {
  /** Asks for tokens of `account-0`, `account-1` and so on. `lifetime` is in seconds. */
  generate(options: {
    readonly count: number;
    readonly concurrency?: number;
    readonly lifetime?: number;
  }): Promise<GeneratedTokens>;
  /** For each token the reason why it is refused, or `""`. */
  verify(tokens: readonly string[]): Promise<readonly string[]>;
  /** The keys that it has. */
  keys(): Promise<readonly KubeKey[]>;
  /** The longest lifetime of a token, in seconds. */
  maxLifetime(): Promise<number | undefined>;
}

type Answer = Partial<GeneratedTokens> & {
  readonly reasons?: readonly string[];
  readonly keys?: readonly KubeKey[];
  readonly seconds?: number;
};

/** Connects to a signer, and fetches its keys. Rejects if that fails, with what Kubernetes says. */
export async function startKubeClient(socket: string, issuer: string): Promise<KubeClient> {
  const child = spawn(join(cacheFolder(), "kube-client", "kube-client"), [socket, issuer]);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-65_536);
  });
  child.stdin.on("error", () => undefined);
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  // Its answers come in the order of the requests, so one waits for the other.
  let last: Promise<unknown> = Promise.resolve();
  const ask = (request: object): Promise<Answer> => {
    const answered = last.then(async () => {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await answers.next();
      if (done === true) throw new Error(`kube-client ended: ${errors}`);
      return JSON.parse(value) as Answer;
    });
    last = answered.catch(() => undefined);
    return answered;
  };
  const client: KubeClient = {
    generate: async ({ count, concurrency = 16, lifetime = 600 }) => {
      const { tokens = [], errors: failed = [] } = await ask({ op: "generate", count, concurrency, lifetime });
      return { tokens, errors: failed };
    },
    verify: async (tokens) => (await ask({ op: "verify", tokens })).reasons ?? [],
    keys: async () => (await ask({ op: "keys" })).keys ?? [],
    maxLifetime: async () => (await ask({ op: "metadata" })).seconds,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
  await client.keys();
  return client;
}
