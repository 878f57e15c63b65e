import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../lib/repository.mjs";
import { certificateChains } from "./authorities.mjs";

/**
 * A backend with two keys, started for one program.
 *
 * @typedef {object} Started
 * @property {Record<string, unknown>} settings how the program reaches it, and its keys
 * @property {readonly import("node:crypto").KeyObject[]} publicKeys of the two keys, as the backend says
 * @property {NodeJS.ProcessEnv} [env] of the program
 * @property {Checked} [checks] for the checks of a signer: another backend, if not this one
 * @property {() => unknown} stop
 *
 * @typedef {object} Checked
 * @property {Record<string, unknown>} [settings]
 * @property {readonly string[]} secrets
 * @property {Partial<Record<string, (on: boolean) => Promise<void>>>} faults
 */

/** What a program sees of each kind of failure: no answer, and a connection that is cut. */
const FAULTS = ["hang", "reset"];

/** @type {Readonly<Record<string, () => Promise<Started>>>} */
const BACKENDS = {
  local: startLocal,
  authorities: startAuthorities,
  servers: startServers,
  "aws-kms-sdk": () => startAwsKms("sdk"),
  "aws-kms-https": () => startAwsKms("https"),
  "gcp-kms-grpc": () => startGcpKms("grpc"),
  "gcp-kms-rest": () => startGcpKms("rest"),
  "azure-key-vault": startAzureKeyVault,
  "vault-transit": startVaultTransit,
  "pkcs11-thread": () => startPkcs11("thread"),
  "pkcs11-process": () => startPkcs11("process"),
};

/** @param {string} name @returns {Promise<Started>} */
export async function startBackend(name) {
  const start = BACKENDS[name];
  if (start === undefined) throw new Error(`no backend ${name}`);
  return start();
}

/** A server through which a program switches faults: POST /FAULT/on. @param {Checked["faults"]} faults */
export async function startControl(faults) {
  const server = createServer((req, res) => {
    const [, fault = "", on] = (req.url ?? "").split("/");
    Promise.resolve(faults[fault]?.(on === "on")).then(
      () => res.end(),
      (error) => res.writeHead(500).end(String(error)),
    );
  });
  // Connections that are kept would keep a program alive, or be closed while it uses one.
  server.maxRequestsPerSocket = 1;
  return { url: `http://127.0.0.1:${await listen(server)}/`, stop: () => server.close() };
}

/** Imported here, because scripts that install the dependencies import this file. @param {string} name @returns {Promise<any>} */
function load(name) {
  return import(pathToFileURL(join(ROOT, "test/backends/dist", `${name}.js`)).href);
}

/** @param {Partial<Record<string, (on: boolean) => Promise<void>>>} faults */
function chosen(faults) {
  return Object.fromEntries(FAULTS.map((fault) => [fault, faults[fault]]));
}

/** @returns {Promise<Started>} */
async function startLocal() {
  const pairs = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  const keys = pairs.map(({ privateKey }) => String(privateKey.export({ type: "pkcs8", format: "pem" })));
  const secrets = pairs.map(({ privateKey }) => String(privateKey.export({ format: "jwk" }).d));
  const publicKeys = pairs.map(({ publicKey }) => publicKey);
  return { settings: { keys }, publicKeys, checks: { secrets, faults: {} }, stop: () => {} };
}

/** The first key has a certificate of each kind of authority. @returns {Promise<Started>} */
async function startAuthorities() {
  const local = await startLocal();
  const [publicKey] = local.publicKeys;
  if (publicKey === undefined) throw new Error("no key");
  return { ...local, settings: { ...local.settings, chains: certificateChains(publicKey) } };
}

/** @returns {Promise<Started>} */
async function startServers() {
  const local = await startLocal();
  const silent = createTcpServer(() => {});
  const closed = createTcpServer();
  const ports = { silent: await listen(silent), closed: await listen(closed) };
  closed.close();
  silent.unref();
  return { ...local, settings: { ...local.settings, ...ports }, stop: () => silent.close() };
}

/** @param {string} transport @returns {Promise<Started>} */
async function startAwsKms(transport) {
  const { startFakeAwsKms, AWS_KMS_FAULTS } = await load("fake-aws-kms");
  const fake = await startFakeAwsKms();
  const keys = [fake.addKey(), fake.addKey()];
  const { accessKeyId, secretAccessKey } = fake.credentials;
  return {
    settings: { endpoint: fake.endpoint, transport, keys: keys.map(({ arn }) => arn) },
    publicKeys: keys.map(({ publicKey }) => publicKey),
    env: {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_CONFIG_FILE: "/nonexistent/config",
      AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/credentials",
    },
    checks: { secrets: [secretAccessKey], faults: chosen(fake.switches(AWS_KMS_FAULTS)) },
    stop: () => fake.stop(),
  };
}

/** @param {"grpc" | "rest"} transport @returns {Promise<Started>} */
async function startGcpKms(transport) {
  const { startFakeGcpKms } = await load("fake-gcp-kms");
  const fake = await startFakeGcpKms();
  const versions = [fake.addVersion(), fake.addVersion()];
  const port = transport === "grpc" ? fake.grpcPort : fake.restPort;
  const toggle = (/** @type {string} */ fault) => async (/** @type {boolean} */ on) =>
    on ? fake.faults.on(fault) : fake.faults.off(fault);
  return {
    settings: { endpoint: `http://127.0.0.1:${port}`, transport, keys: versions.map(({ name }) => name) },
    publicKeys: versions.map(({ publicKey }) => publicKey),
    checks: { secrets: [], faults: Object.fromEntries(FAULTS.map((fault) => [fault, toggle(fault)])) },
    stop: () => fake.stop(),
  };
}

/** @returns {Promise<Started>} */
async function startAzureKeyVault() {
  const { startFakeAzureKeyVault, AZURE_KEY_VAULT_FAULTS } = await load("fake-azure-key-vault");
  const fake = await startFakeAzureKeyVault();
  const versions = [fake.key.latest, fake.key.rotate()];
  const { token } = fake.entra.issue("https://127.0.0.1/.default");
  const keys = versions.map(({ version }) => version);
  return {
    settings: { vault: fake.url, caFile: fake.caFile, token, keys },
    publicKeys: versions.map(({ material: { x, y } }) =>
      createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" }),
    ),
    checks: { secrets: [token], faults: chosen(fake.switches(AZURE_KEY_VAULT_FAULTS)) },
    stop: () => fake.stop(),
  };
}

/** The tokens are signed by OpenBao, and a fake fails on demand. @returns {Promise<Started>} */
async function startVaultTransit() {
  const { startOpenbao } = await load("openbao");
  const { startFakeVaultTransit, VAULT_TRANSIT_FAULTS } = await load("fake-vault-transit");
  const [server, fake] = await Promise.all([startOpenbao(), startFakeVaultTransit()]);
  const keys = ["one", "two"];
  const publicKeys = [];
  for (const key of keys) {
    await server.must("POST", `transit/keys/${key}`, { type: "ecdsa-p256" });
    const { keys: versions } = await server.must("GET", `transit/keys/${key}`);
    publicKeys.push(createPublicKey(versions["1"].public_key));
  }
  return {
    settings: { address: server.address, token: server.token, keys },
    publicKeys,
    checks: {
      settings: { address: fake.address, token: fake.token, keys: ["op"] },
      secrets: [fake.token],
      faults: chosen(fake.switches(VAULT_TRANSIT_FAULTS)),
    },
    stop: () => Promise.all([server.stop(), fake.stop()]),
  };
}

/** @param {string} isolation @returns {Promise<Started>} */
async function startPkcs11(isolation) {
  const { startSoftHsm } = await load("softhsm");
  const hsm = await startSoftHsm();
  const keys = ["one", "two"];
  const publicKeys = [];
  for (const [index, label] of keys.entries()) {
    publicKeys.push((await hsm.generateKey({ label, id: `0${index + 1}` })).publicKey);
  }
  return {
    settings: { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin, isolation, keys },
    publicKeys,
    env: { SOFTHSM2_CONF: hsm.conf },
    checks: { secrets: [hsm.pin], faults: {} },
    stop: () => hsm.stop(),
  };
}

/** @param {import("node:net").Server} server */
async function listen(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
