import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { kmsPlace, openKmsCalls } from "../src/backends/aws-kms.ts";
import { createKeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// Calls of backends beyond those of the adapters.

beforeAll(() => {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  return () => vi.unstubAllEnvs();
});
afterEach(() => void vi.restoreAllMocks());

test("a call of AWS KMS has a time limit", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { timeout } = AbortSignal;
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => timeout(50));
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const calls = await openKmsCalls({ endpoint, region: "eu-west-1", id: "a" }, recordingContext("/"));
  await expect(calls?.call("DescribeKey", { KeyId: "a" })).rejects.toThrow("abort");
  calls?.close();
  silent.close();
});

test.each(["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])("an endpoint goes before %s", async (name) => {
  const server = createHttpServer((_request, response) => void response.end("{}")).listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.stubEnv(name, "true");
  const env = { AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const place = kmsPlace("awskms:///alias/op?region=eu-west-1", {}, env);
  const calls = await openKmsCalls(place, recordingContext("/"));
  await expect(calls?.call("DescribeKey", { KeyId: "a" })).resolves.toMatchObject({});
  vi.stubEnv(name, undefined);
  calls?.close();
  server.close();
});

test.each([
  ["127.0.0.1:4566", "http"],
  ["LOCALHOST:4566", "http"],
  ["[::1]:4566", "http"],
  ["localhost.localstack.example:4566", "https"],
  ["127.0.0.1.example", "https"],
  ["kms.example", "https"],
])("the host %s of a key URI is reached by %s, as by the adapter", (host, scheme) => {
  expect(kmsPlace(`awskms://${host}/alias/op`, {}, {}).endpoint).toBe(`${scheme}://${host}`);
});

const KMS_ARN = "arn:aws:kms:eu-west-1:111122223333:key/1";
test.each<[uri: string, options: object, env: NodeJS.ProcessEnv, place: object]>([
  ["awskms://kms.example/a?scheme=http", {}, {}, { endpoint: "http://kms.example", region: undefined, id: "a" }],
  ["awskms://localhost:4566/a?scheme=https", {}, {}, { endpoint: "https://localhost:4566", id: "a" }],
  ["AWSKMS:///alias/op?region=eu-west-1", {}, {}, { endpoint: undefined, region: "eu-west-1", id: "alias/op" }],
  [`awskms:///${KMS_ARN}`, { region: "us-east-1" }, {}, { region: "eu-west-1", id: KMS_ARN }],
  [`awskms:///${KMS_ARN}?region=eu-west-2`, {}, {}, { region: "eu-west-2", id: KMS_ARN }],
  ["awskms:///alias/op", { region: "us-east-1" }, {}, { region: "us-east-1" }],
  ["awskms:///alias/op", { region: () => "us-east-1" }, {}, { region: undefined }],
  [
    "awskms:///alias/op",
    { endpoint: "https://a.example" },
    { AWS_ENDPOINT_URL: "b" },
    { endpoint: "https://a.example" },
  ],
  ["awskms://kms.example/a", { endpoint: "https://a.example" }, {}, { endpoint: "https://kms.example" }],
  ["awskms:///a", {}, { AWS_ENDPOINT_URL: "all", AWS_ENDPOINT_URL_KMS: "kms" }, { endpoint: "kms" }],
  ["awskms:///a", {}, { AWS_ENDPOINT_URL: "all", AWS_ENDPOINT_URL_KMS: "" }, { endpoint: "all" }],
  ["awskms:///a", {}, { AWS_ENDPOINT_URL: "" }, { endpoint: undefined }],
  ["awskms:///a", {}, { AWS_ENDPOINT_URL: "a", AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "true" }, { endpoint: undefined }],
  ["awskms:///a", {}, { AWS_ENDPOINT_URL: "a", AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "no" }, { endpoint: "a" }],
  ["xawskms:///a", {}, {}, { endpoint: undefined, region: undefined, id: "" }],
])("the key URI %s with %o and %o is at %o", (uri, options, env, place) => {
  expect(kmsPlace(uri, { ...options }, env)).toMatchObject(place);
});

/** A binding whose token says how many tries are left, and that fails if a login is tried. */
const binding = (flags: string): string => `
  const FLAGS = { CKF_USER_PIN_FINAL_TRY: 2, CKF_USER_PIN_LOCKED: 4 };
  exports.PKCS11 = class {
    load() {}
    C_Initialize() {}
    C_Finalize() {}
    C_GetSlotList() { return [Buffer.alloc(8)]; }
    C_GetTokenInfo() { return { label: "op", model: "", manufacturerID: "", serialNumber: "", flags: FLAGS.${flags} }; }
    C_OpenSession() { return Buffer.alloc(8); }
    C_Login() { throw new Error("a login was tried"); }
  };
  Object.assign(exports, FLAGS);
`;

test.each([
  ["CKF_USER_PIN_FINAL_TRY", "pin_final_try"],
  ["CKF_USER_PIN_LOCKED", "pin_locked"],
])("no key is made in a token with %s, because the PIN may be wrong", async (flags, code) => {
  await using folder = await createKeyFolder();
  await folder.write("binding.cjs", binding(flags));
  const child = fork(fileURLToPath(new URL("../dist/pkcs11-program.js", import.meta.url)));
  child.send({
    binding: `${folder.path}/binding.cjs`,
    module: "any",
    uri: { token: "op" },
    task: "generate",
    pin: "1234",
    label: "61",
    id: "01",
  });
  const [answer] = await once(child, "message");
  expect(answer).toMatchObject({ ok: false, code });
});

test("a module that cannot be loaded is not named, since its path may hold a PIN", async () => {
  await using folder = await createKeyFolder();
  const load = 'load(path) { throw new Error(path + ": cannot open shared object file") }';
  await folder.write("binding.cjs", `exports.PKCS11 = class { ${load} }`);
  const child = fork(fileURLToPath(new URL("../dist/pkcs11-program.js", import.meta.url)));
  const request = { binding: `${folder.path}/binding.cjs`, module: "/m.so|pin=1234", uri: {}, task: "token" };
  child.send(request);
  const [answer] = await once(child, "message");
  expect(answer).toEqual({
    ok: false,
    code: "module_failed",
    message: "the PKCS#11 module cannot be loaded: the module: cannot open shared object file",
  });
});
