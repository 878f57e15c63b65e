import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { assertLoopbackOnly, cacheFolder, freePort, startProcess } from "./process.ts";

const run = promisify(execFile);

/** What a token of the provisioner allows. */
export interface StepCaGrant {
  /** The common name. */
  readonly subject: string;
  /** Names of any kind: step-ca tells them apart itself. */
  readonly sans: readonly string[];
}

export interface StepCaAnswer {
  readonly status: number;
  /** The chain in PEM, leaf first and without the root. Empty if the request was refused. */
  readonly chain: readonly string[];
  /** The words of a refusal. */
  readonly message: string | undefined;
}

export interface StepCa extends AsyncDisposable {
  /** The root certificate in PEM. */
  readonly root: string;
  /** Sends a certificate request in PEM, with a token of the provisioner for it. */
  sign(csr: string, grant: StepCaGrant): Promise<StepCaAnswer>;
  stop(): Promise<void>;
}

const PROVISIONER = "tests";

/** The subject of the request, which the default template leaves out except for the common name. */
const TEMPLATE = `{
  "subject": {{ toJson .Insecure.CR.Subject }},
  "sans": {{ toJson .SANs }},
  "keyUsage": ["digitalSignature"],
  "extKeyUsage": ["clientAuth"]
}`;

/** Starts step-ca with a root, an issuing authority and one provisioner, on a free loopback port and in a private folder. */
export async function startStepCa(): Promise<StepCa> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-step-ca-"));
  const root = await writeAuthorities(directory);
  const provisioner = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const kid = createHash("sha256")
    .update(provisioner.publicKey.export({ type: "spki", format: "der" }))
    .digest("hex");
  const port = await freePort();
  const key = { ...provisioner.publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" };
  const options = { x509: { template: TEMPLATE } };
  const config = {
    root: join(directory, "root.pem"),
    crt: join(directory, "issuing.pem"),
    key: join(directory, "issuing.key"),
    address: `127.0.0.1:${port}`,
    dnsNames: ["127.0.0.1"],
    authority: { provisioners: [{ type: "JWK", name: PROVISIONER, key, options }] },
  };
  await writeFile(join(directory, "ca.json"), JSON.stringify(config));
  const child = startProcess({
    command: join(cacheFolder(), "step-ca", "step-ca"),
    args: [join(directory, "ca.json")],
    env: { STEPPATH: directory },
  });
  const stop = async (): Promise<void> => {
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  const audience = `https://127.0.0.1:${port}/1.0/sign`;
  try {
    const isUp = (): Promise<boolean> =>
      call({ url: `https://127.0.0.1:${port}/health`, root }).then(
        ({ status }) => status === 200,
        () => false,
      );
    await child.waitUntil("the first answer", isUp);
    await assertLoopbackOnly(child.pid, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    root,
    sign: async (csr, grant) => {
      const ott = token({ key: provisioner.privateKey, kid, audience, grant });
      const { status, body } = await call({ url: audience, root, body: { csr, ott } });
      const { certChain = [], message } = body as { certChain?: string[]; message?: string };
      return { status, chain: certChain, message };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A root and an authority that it certified, made by openssl. */
async function writeAuthorities(directory: string): Promise<string> {
  const path = (name: string): string => join(directory, name);
  const newKey = (name: string): Promise<unknown> =>
    run("openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path(name)]);
  await Promise.all([newKey("root.key"), newKey("issuing.key")]);
  const root = ["req", "-x509", "-new", "-key", path("root.key"), "-subj", "/CN=Tests Root", "-days", "30"];
  await run("openssl", [...root, "-out", path("root.pem")]);
  const request = [
    "req",
    "-new",
    "-key",
    path("issuing.key"),
    "-subj",
    "/CN=Tests Issuing",
    "-out",
    path("issuing.csr"),
  ];
  await run("openssl", request);
  await writeFile(
    path("issuing.ext"),
    "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign",
  );
  const authority = ["-CA", path("root.pem"), "-CAkey", path("root.key"), "-CAcreateserial", "-days", "20"];
  const files = ["-in", path("issuing.csr"), "-extfile", path("issuing.ext"), "-out", path("issuing.pem")];
  await run("openssl", ["x509", "-req", ...authority, ...files]);
  return readFile(path("root.pem"), "utf8");
}

interface TokenInput {
  readonly key: KeyObject;
  readonly kid: string;
  readonly audience: string;
  readonly grant: StepCaGrant;
}

function token({ key, kid, audience, grant }: TokenInput): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: PROVISIONER,
    aud: audience,
    sub: grant.subject,
    sans: grant.sans,
    nbf: now - 5,
    iat: now,
    exp: now + 120,
    jti: randomUUID(),
  };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${encode({ alg: "ES256", typ: "JWT", kid })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

interface Call {
  readonly url: string;
  readonly root: string;
  readonly body?: object;
}

function call({ url, root, body }: Call): Promise<{ readonly status: number; readonly body: unknown }> {
  const options = { method: body === undefined ? "GET" : "POST", ca: root, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer: unknown = text.startsWith("{") ? JSON.parse(text) : {};
        resolve({ status: response.statusCode ?? 0, body: answer });
      });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
