import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import {
  openVaultTransitSigner,
  vaultTransit,
  vaultTransitKeys,
  type VaultTransitAuth,
  type VaultTransitDispatcherLike,
} from "@signpost/vault-transit";
import {
  dumpOf,
  ECHO_FORMS,
  ECHO_STATUSES,
  type EchoRequest,
  echoOf,
  leavesOf,
  sentIn,
  startEchoProxy,
  withLeaf,
} from "@signpost/test-backends/echo-proxy";
import { errorReply, startFakeVaultTransit, VAULT_TRANSIT_FAULTS } from "@signpost/test-backends/fake-vault-transit";
import { chosen, partners } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedJwt, markedText, type MarkedText } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";

// Every failure path with marked secrets: nothing that a program can log contains a part of one.

const DIGEST = new Uint8Array(32).fill(7);
/** Long, so that a busy machine changes no result. */
const STEADY = { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 } as const;
/** Where nothing answers. */
const HASTY = { attemptTimeoutMs: 60, deadlineMs: 100, maxAttempts: 2 } as const;

const given = markedText("the given token");
const loggedIn = markedText("the token of a login");
const secretId = markedText("the secret id");
const account = markedJwt("the service account's token");
const jwt: MarkedText = { name: "the service account's token", text: account.jwt, bytes: Buffer.from(account.jwt) };
const wrong = misplacedSecrets("a misplaced secret");
const SENT = [given, loggedIn, secretId, jwt];

const fake = await startFakeVaultTransit();
const proxy = await startEchoProxy(fake.address);
const folder = await mkdtemp(join(tmpdir(), "signpost-vault-secrets-"));
const [tokenFile, secretIdFile, jwtFile] = ["token", "secret-id", "jwt"].map((name) => join(folder, name));
await writeFile(tokenFile ?? "", given.text);
await writeFile(secretIdFile ?? "", `${secretId.text}\n`);
await writeFile(jwtFile ?? "", jwt.text);
const watch = watchLeaks([...SENT, ...account.secrets, ...wrong.secrets]);

const WRAPPINGS: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify({ errors: [text], warnings: [text] }),
  (text) => JSON.stringify({ errors: [`1 error occurred:\n\t* ${text}`], [text]: text, data: { [text]: text } }),
];

beforeEach(() => {
  fake.reset();
  proxy.reset();
  fake.accepted = [given.text, loggedIn.text];
  fake.tokens = ({ path }) => {
    if (path === "auth/token/revoke-self") return { status: 204, body: "" };
    const auth = { client_token: loggedIn.text, lease_duration: 3600, renewable: true };
    return { status: 200, body: JSON.stringify({ data: { ttl: 3600, renewable: true }, auth }) };
  };
});
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(async () => {
  watch[Symbol.dispose]();
  await rm(folder, { recursive: true });
  await proxy[Symbol.asyncDispose]();
  await fake.stop();
});

const AUTHS: Readonly<Record<string, VaultTransitAuth>> = {
  "a token": { method: "token", token: given.text },
  "a function for a token": { method: "token", token: () => given.text },
  "a token file": { method: "token-file", path: tokenFile ?? "" },
  "a secret id": { method: "approle", roleId: "role", secretId: secretId.text },
  "a file with a secret id": { method: "approle", roleId: "role", secretIdFile },
  "a service account": { method: "kubernetes", role: "role", jwtFile },
};

/** Opens, signs, asks for the health and closes. Everything that comes of it is searched. */
async function drive(
  what: string,
  open: () => Promise<Signer>,
  during: () => unknown = () => undefined,
  patienceMs: number = 20_000,
): Promise<void> {
  let signer: Signer | undefined;
  await watch.sawCall(async () => (signer = await open()), `opening with ${what}`);
  if (signer === undefined) return;
  const opened = signer;
  await during();
  await watch.sawCall(() => opened.sign(DIGEST, { signal: AbortSignal.timeout(patienceMs) }), `signing with ${what}`);
  if ("health" in opened)
    watch.saw(Reflect.apply(Reflect.get(opened, "health") as () => unknown, opened, []), "health");
  await watch.sawCall(() => opened.close(), `closing with ${what}`);
}

const openAt = (address: string, auth: VaultTransitAuth, policy: object | false = STEADY): Promise<Signer> =>
  openVaultTransitSigner({ address, key: "op", auth, policy });

describe.each(Object.entries(AUTHS))("with %s", (name, auth) => {
  test.each(VAULT_TRANSIT_FAULTS.filter((fault) => fault !== "unreachable"))("the fault %s", async (fault) => {
    const isSilent = /hang|slow/.test(fault);
    const policy = isSilent ? HASTY : STEADY;
    // While it opens, and after it was opened.
    fake.faults.on(fault);
    await drive(name, () => openAt(fake.address, auth, policy));
    fake.faults.off(fault);
    for (const each of [policy, false] as const) {
      const during = (): void => fake.faults.on(fault);
      await drive(name, () => openAt(fake.address, auth, each), during, isSilent ? 100 : undefined);
      fake.faults.off(fault);
    }
  });

  test("a server that is away", async () => {
    await fake.goAway();
    await drive(name, () => openAt(fake.address, auth));
    await fake.comeBack();
    await drive(
      name,
      () => openAt(fake.address, auth),
      () => fake.goAway(),
    );
    await fake.comeBack();
  });
});

/** The calls of a signer, by their paths. */
const CALLS: Readonly<Record<string, RegExp>> = {
  login: /\/login$/,
  "look-up": /lookup-self$/,
  renewal: /renew-self$/,
  revocation: /revoke-self$/,
  read: /\/keys\/op$/,
  signature: /\/sign\//,
};
const LOGGING_IN = ["a token", "a secret id", "a service account"] as const;

describe.each(Object.entries(CALLS))("a proxy that repeats the secrets in its answer to a %s", (_call, path) => {
  const answerWith = async (status: number, echo: (request: EchoRequest) => string): Promise<void> => {
    for (const name of LOGGING_IN) {
      const auth = AUTHS[name] ?? { method: "none" };
      for (const wrap of partners(LOGGING_IN, name, WRAPPINGS, 2)) {
        proxy.answer = (request) => {
          if (!path.test(request.path)) return undefined;
          const text = echo(request);
          const header = text.replaceAll(/[^\x21-\x7e]+/g, " ").slice(0, 4000);
          const headers = {
            location: locationOf(header),
            "retry-after": header,
            "www-authenticate": header,
            "x-vault-token": header,
          };
          return { status, headers, body: wrap(text), reason: header.slice(0, 200) };
        };
        await drive(`${name}, status ${status}`, () => openAt(proxy.url, auth, STEADY));
      }
    }
  };

  test.each(chosen(ECHO_STATUSES, 9))("with the status %i, all that was sent", (status) => answerWith(status, dumpOf));

  test.each(Object.keys(ECHO_FORMS))("the secrets %s", async (form) => {
    for (const status of partners(Object.keys(ECHO_FORMS), form, [307, 400, 403, 500], 2))
      await answerWith(status, (request) => echoOf(sentIn(request, SENT), form));
  });
});

/** As in a redirect to a page for a login. */
function locationOf(header: string): string {
  const text = encodeURIComponent(header.slice(0, 500));
  return `https://${header.replaceAll(/[^A-Za-z0-9]/g, "").slice(-50)}.example/${text}?from=${text}`;
}

test.each(Object.entries(CALLS))("a member of the right answer to a %s that repeats a secret", async (_call, path) => {
  for (const name of LOGGING_IN) {
    const auth = AUTHS[name] ?? { method: "none" };
    let leaves = 1;
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      proxy.change = (body, request) => {
        if (!path.test(request.path) || body === "") return body;
        leaves = leavesOf(body);
        return withLeaf(body, leaf, echoOf(sentIn(request, SENT), "as it is"));
      };
      await drive(name, () => openAt(proxy.url, auth, STEADY));
      await watch.sawCall(async () => {
        const keys = await vaultTransitKeys({ address: proxy.url, key: "op", auth, policy: STEADY });
        watch.saw(keys, "the versions");
        await keys.refresh();
        await keys.close();
      }, "the versions");
    }
  }
});

describe("a dispatcher of the caller", () => {
  const codes = [
    "ECONNRESET",
    "ETIMEDOUT",
    "UND_ERR_ABORTED",
    "UND_ERR_RESPONSE",
    "UND_ERR_SOCKS5",
    "ERR_INVALID_ARG_TYPE",
    "HPE_X",
    undefined,
  ];
  test.each(chosen(codes, 4))("whose errors repeat the request, with the code %s", async (code) => {
    for (const auth of LOGGING_IN.map((name) => AUTHS[name] ?? { method: "none" as const })) {
      for (const form of chosen(Object.keys(ECHO_FORMS), 3)) {
        const dispatcher: VaultTransitDispatcherLike = {
          request: (request) => {
            const known = sentIn({ headers: request.headers, body: request.body ?? "" }, SENT);
            const text = `${JSON.stringify(request.headers)} ${request.body ?? ""} ${echoOf(known, form)}`;
            const inner = new AggregateError([new Error(text)], text, { cause: new Error(text) });
            const members = { code, request, headers: request.headers, statusCode: 400, body: text, options: request };
            return Promise.reject(Object.assign(new Error(text, { cause: inner }), members));
          },
        };
        const options = { address: fake.address, key: "op", auth, dispatcher, policy: STEADY };
        await drive("a dispatcher", () => openVaultTransitSigner(options));
        const pinned = { ...options, keyVersion: 1, publicKey: fake.publicKey };
        await drive("a dispatcher", () => openVaultTransitSigner(pinned));
      }
    }
  });
});

describe("a source of a secret", () => {
  const sources: readonly (readonly [what: string, auth: object])[] = wrong.values.flatMap(([what, value]) => [
    [`a token that is ${what}`, { method: "token", token: value }] as const,
    [`a token function that returns ${what}`, { method: "token", token: () => value }] as const,
    [`a token function that throws ${what}`, { method: "token", token: () => Promise.reject(value) }] as const,
    [`a secret id that is ${what}`, { method: "approle", roleId: "r", secretId: value }] as const,
    [
      `a secret id function that throws ${what}`,
      { method: "approle", roleId: "r", secretId: () => Promise.reject(value) },
    ] as const,
    [`a role id that is ${what}`, { method: "approle", roleId: value }] as const,
    [`a file of a secret id that is ${what}`, { method: "approle", roleId: "r", secretIdFile: value }] as const,
    [`a file of a JWT that is ${what}`, { method: "kubernetes", role: "r", jwtFile: value }] as const,
    [`a token file that is ${what}`, { method: "token-file", path: value }] as const,
    [`a method that is ${what}`, { method: value }] as const,
    [`a mount that is ${what}`, { method: "approle", roleId: "r", mount: value }] as const,
  ]);
  test.each(chosen(sources, 60))("%s", async (what, auth) => {
    fake.tokens = () => errorReply(400, "invalid role or secret ID");
    await drive(what, () => openAt(fake.address, auth as VaultTransitAuth, STEADY));
  });

  test("a file with a secret that fits no header, or that is not a file", async () => {
    const odd = join(folder, "odd");
    await writeFile(odd, `${given.text}\n${given.text}\n`);
    await mkdir(join(folder, given.text.replaceAll("/", "")));
    for (const path of [odd, join(folder, given.text.replaceAll("/", "")), `/nowhere/${given.text}`]) {
      for (const auth of [
        { method: "token-file", path },
        { method: "approle", roleId: "r", secretIdFile: path },
        { method: "kubernetes", role: "r", jwtFile: path },
      ] as const) {
        await drive("an odd file", () => openAt(fake.address, auth));
      }
    }
  });
});

test("a secret in the place of any option or key URI", async () => {
  const right = { address: fake.address, key: "op", auth: { method: "token", token: given.text }, policy: STEADY };
  const names = [
    "mount",
    "keyVersion",
    "publicKey",
    "dispatcher",
    "tls",
    "tls.caFile",
    "tls.certFile",
    "tls.keyFile",
    "tls.serverName",
    "namespace",
    "clusterAddresses",
    "signal",
    "openDeadlineMs",
    "allowInsecureAddress",
    "pickUpMinutes",
    "announceHours",
  ];
  for (const [what, options] of misplacedIn(right, names, wrong)) {
    await drive(what, () => openVaultTransitSigner(options as typeof right as never));
    await watch.sawCall(async () => (await vaultTransitKeys(options as never)).close(), `keys with ${what}`);
    await watch.sawCall(() => vaultTransit(options), `the adapter with ${what}`);
  }
  for (const [what, value] of wrong.values) {
    for (const uri of [
      value,
      `vault:${String(Object(value).description ?? value)}`,
      `vault:///transit/keys/op?${String(Object(value).description ?? value)}`,
      `vault://${String(Object(value).description ?? value)}/transit/keys/op`,
    ]) {
      await watch.sawCall(
        () => openSigner(uri as string, [vaultTransit({ ...right, policy: undefined } as never)]),
        `a URI that is ${what}`,
      );
      await watch.sawCall(
        () => openSigner(uri as string, [vaultTransit({ address: fake.address, auth: { method: "none" } })]),
        `a URI that is ${what}`,
      );
    }
  }
});

test("each environment variable that holds a secret in the wrong place", async () => {
  const variables = [
    "ADDR",
    "TOKEN",
    "NAMESPACE",
    "CACERT",
    "CLIENT_CERT",
    "CLIENT_KEY",
    "TLS_SERVER_NAME",
    "SKIP_VERIFY",
  ];
  for (const [what, value] of wrong.values) {
    if (typeof value !== "string") continue;
    for (const name of variables) {
      process.env[`VAULT_${name}`] = value;
      await drive(`VAULT_${name} that is ${what}`, () => openVaultTransitSigner({ key: "op", policy: STEADY }));
      delete process.env[`VAULT_${name}`];
    }
  }
});

test("the codes of all failures were seen", () => {
  expect([...watch.codes].toSorted()).toEqual(
    expect.arrayContaining([
      "access_denied",
      "bad_signature",
      "integrity",
      "invalid_argument",
      "invalid_configuration",
      "key_disabled",
      "key_not_found",
      "throttled",
      "timeout",
      "unavailable",
      "unsupported_key",
      "wrong_key",
    ]),
  );
  expect(watch.count).toBeGreaterThan(5000);
});
