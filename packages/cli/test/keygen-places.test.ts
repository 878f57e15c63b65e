import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

// Where a key is made, how often, and what is refused before: a key of a cloud cannot be taken back.

/** A request to the service of the environment: its method, what it asks for, and its body. */
interface Asked {
  readonly method: string;
  readonly what: string;
}
let folder: KeyFolder;
let server: Server;
let address: string;
let asked: Asked[];
let answer: (what: string, response: ServerResponse, request: IncomingMessage) => void;

beforeAll(async () => {
  folder = await createKeyFolder();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await text(request);
    const target = request.headers["x-amz-target"];
    const what = typeof target === "string" ? (target.split(".")[1] ?? "") : (request.url ?? "");
    asked.push({ method: request.method ?? "", what });
    answer(what, response, request);
  };
  server = createServer((request, response) => void receive(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  asked = [];
  answer = (_what, response) => notFound(response);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await folder[Symbol.asyncDispose]();
});

/** As AWS KMS says it, and as Cloud KMS does. */
function notFound(response: ServerResponse): void {
  const google = { error: { code: 404, status: "NOT_FOUND", message: "no" } };
  response.writeHead(404, { "content-type": "application/json" });
  response.end(JSON.stringify({ __type: "NotFoundException", ...google }));
}

const run = (args: readonly string[]): Promise<CliResult> =>
  runCli(args, {
    cwd: folder.path,
    env: {
      AWS_REGION: "eu-west-1",
      AWS_ACCESS_KEY_ID: "other",
      AWS_SECRET_ACCESS_KEY: "other",
      AWS_ENDPOINT_URL_KMS: address,
      VAULT_ADDR: address,
      VAULT_TOKEN: "token",
    },
  });
const made = (): readonly Asked[] =>
  asked.filter(({ method, what }) => method === "POST" && /create|crypto/i.test(what));

describe("an adapter with its own connection", () => {
  test.each([
    [
      "awskms:///alias/op",
      "client",
      "{ send: () => Promise.reject(Object.assign(new Error(), { name: 'NotFoundException', $metadata: { httpStatusCode: 400 } })) }",
    ],
    ["awskms:///alias/op", "api", "{ getPublicKey: () => {}, sign: () => {} }"],
    ["gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/op", "client", "{ asymmetricSign() {}, initialize() {} }"],
    ["vault:///transit/keys/op", "dispatcher", "{ request: () => Promise.reject(new Error()) }"],
    ["azurekms:///op.vault.azure.net/keys/op", "dispatcher", "{ request: () => Promise.reject(new Error()) }"],
  ])("makes no key with the credentials of the environment: %s with %s", async (uri, option, value) => {
    const scheme = uri.slice(0, uri.indexOf(":"));
    const config = `{ issuer: "https://op.example", keys: [], adapters: { ${scheme}: { ${option}: ${value} } } }`;
    await folder.write("own.mjs", `export default ${config};`);
    const { code, stderr } = await run(["keygen", uri, "--config", "own.mjs"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `error keygen cannot use the option ${option} of the adapter\nhint  Use the tools of the backend\n`,
    });
    expect(asked).toEqual([]);
  });
});

describe("a key is made once, although its answer was lost", () => {
  const LOOK = "The key may have been made: look in the backend before you try again";

  test.each([
    ["cut", (response: ServerResponse) => void response.destroy()],
    ["an error of the service", (response: ServerResponse) => void response.writeHead(500).end("{}")],
  ])("in AWS KMS: %s", async (_what, fail) => {
    answer = (what, response) => (what === "CreateKey" ? fail(response) : notFound(response));
    const { code, stderr } = await run(["keygen", "awskms:///alias/op"]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(LOOK) });
    expect(made()).toEqual([{ method: "POST", what: "CreateKey" }]);
  });

  test("in AWS KMS, where a question is asked again", async () => {
    const described = (): readonly Asked[] => asked.filter((each) => each.what === "DescribeKey");
    answer = (what, response) => {
      if (what === "CreateKey") response.writeHead(400).end('{"__type":"LimitExceededException"}');
      else if (what === "DescribeKey" && described().length === 1) response.destroy();
      else notFound(response);
    };
    expect(await run(["keygen", "awskms:///alias/op"])).toMatchObject({ code: 3 });
    expect(described()).toHaveLength(2);
    expect(made()).toEqual([{ method: "POST", what: "CreateKey" }]);
  });

  test.each([
    [
      "is its own",
      "arn:aws:kms:eu-west-1:111111111111:key/1",
      "✓ made awskms:///arn:aws:kms:eu-west-1:111111111111:key/1",
    ],
    ["is that of another key", "arn:aws:kms:eu-west-1:111111111111:key/2", "and has no alias: AlreadyExistsException"],
  ])("in AWS KMS, where an alias that the lost call may have made %s", async (_what, target, said) => {
    const metadata = (arn: string): string => JSON.stringify({ KeyMetadata: { Arn: arn } });
    answer = (what, response) => {
      const aliases = asked.filter((each) => each.what === "CreateAlias").length;
      if (what === "CreateKey") response.end(metadata("arn:aws:kms:eu-west-1:111111111111:key/1"));
      else if (what === "CreateAlias" && aliases === 1) response.destroy();
      else if (what === "CreateAlias") {
        response.writeHead(400, { "content-type": "application/x-amz-json-1.1" });
        response.end(JSON.stringify({ __type: "AlreadyExistsException" }));
      } else if (what === "DescribeKey" && aliases > 0) response.end(metadata(target));
      else notFound(response);
    };
    const { stderr } = await run(["keygen", "awskms:///alias/op"]);
    expect(stderr).toContain(said);
  });

  test("in Vault, behind a proxy that lost it", async () => {
    answer = (_what, response, { method }) =>
      void response
        .writeHead(method === "POST" ? 502 : 404, { "content-type": "application/json" })
        .end('{"errors":[]}');
    const { code, stderr } = await run(["keygen", "vault:///transit/keys/op"]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(LOOK) });
    expect(asked.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  test("in Google Cloud KMS, which would find the first one", async () => {
    answer = (_what, response, { method }) => {
      if (method !== "POST") return notFound(response);
      // The client's own rule is to try again after this.
      const error = { code: 503, status: "UNAVAILABLE", message: "later" };
      response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    };
    const { code, stderr } = await atGoogle();
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(LOOK) });
    expect(made()).toHaveLength(1);
  });
});

async function atGoogle(...flags: readonly string[]): Promise<CliResult> {
  const gcpkms = { endpoint: address, transport: "rest" };
  await folder.write("google.json", { issuer: "https://op.example", keys: [], adapters: { gcpkms } });
  const uri = "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/op";
  return run(["keygen", uri, "--config", "google.json", ...flags]);
}

describe("no version is made of a key in Google Cloud KMS that is for something else", () => {
  test.each([
    ["encryption", { purpose: "ENCRYPT_DECRYPT", versionTemplate: { algorithm: "GOOGLE_SYMMETRIC_ENCRYPTION" } }],
    ["RSA", { purpose: "ASYMMETRIC_SIGN", versionTemplate: { algorithm: "RSA_SIGN_PKCS1_2048_SHA256" } }],
  ])("%s", async (_what, key) => {
    answer = (what, response) => {
      if (!what.includes("/cryptoKeys/op?") && !what.endsWith("/cryptoKeys/op")) return notFound(response);
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(key));
    };
    const { code, stderr } = await atGoogle("--new-version");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("A key op that is not EC_SIGN_P256_SHA256 exists, and is not replaced"),
    });
    expect(made()).toEqual([]);
  });

  test("and its protection is that of the key", async () => {
    expect(await atGoogle("--new-version", "--protection", "hsm")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--protection is that of the key"),
    });
  });
});

test("no version is made of a key in Vault whose plain text can be backed up", async () => {
  const data = { type: "ecdsa-p256", exportable: false, allow_plaintext_backup: true, latest_version: 1 };
  answer = (_what, response) => {
    // The adapter may not read the key, so it has nothing to say against it.
    const status = asked.filter(({ what }) => what.endsWith("/keys/op")).length === 1 ? 403 : 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(status === 200 ? { data } : { errors: ["permission denied"] }));
  };
  expect(await run(["keygen", "vault:///transit/keys/op", "--new-version"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("A key op whose plain text can be backed up exists, and is not replaced"),
  });
  expect(asked.filter(({ method }) => method === "POST")).toEqual([]);
});
