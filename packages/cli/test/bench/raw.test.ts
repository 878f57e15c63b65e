import { verify, createPublicKey } from "node:crypto";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { httpSide } from "../../src/bench/raw/http.ts";
import { rawOf } from "../../src/bench/raw/open.ts";
import { probeDigest } from "../../src/bench/raw/text.ts";
import type { RawOrder } from "../../src/bench/side.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// The calls that `signpost bench --raw` compares with: what each asks its backend, and what a failure is called.

/** The backend. Undefined: its SDK or its credentials are missing. */
const fake = vi.hoisted(() => ({
  isThere: true,
  calls: [] as unknown[][],
  answer: (): unknown => ({ status: 200 }),
  closed: 0,
}));
const ask = async (...call: unknown[]): Promise<never> => {
  fake.calls.push(call);
  const answer = fake.answer();
  if (answer instanceof Error) throw answer;
  return answer as never;
};
const close = (): void => void (fake.closed += 1);

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>();
  const signNow = crypto.sign as (...args: readonly unknown[]) => Buffer;
  const sign = (...args: readonly unknown[]): Buffer => {
    const signature = signNow(...args);
    fake.calls.push([...args, signature]);
    return signature;
  };
  return { ...crypto, sign };
});
vi.mock("../../src/backends/aws-kms.ts", () => ({
  kmsPlace: (uri: string, options: object, env: object) => ({ id: `id of ${uri}`, options, env }),
  openKmsSdk: async (place: object, cwd: string) => {
    fake.calls.push(["open", place, cwd]);
    class SignCommand {
      readonly input: object;
      constructor(input: object) {
        this.input = input;
      }
    }
    return fake.isThere ? { sdk: { SignCommand }, client: { send: ask, destroy: close } } : undefined;
  },
}));
vi.mock("../../src/backends/gcp-kms.ts", () => ({
  openGcpClient: async () => (fake.isThere ? { asymmetricSign: ask, close: async () => close() } : undefined),
}));
vi.mock("../../src/backends/azure-key-vault.ts", async (original) => ({
  ...(await original<typeof import("../../src/backends/azure-key-vault.ts")>()),
  openAzureCalls: async (host: string) => (fake.isThere ? { sendBare: ask, close, host } : undefined),
}));
vi.mock("../../src/backends/rest.ts", () => ({
  openRest: async (...place: unknown[]) => {
    fake.calls.push(["open", ...place]);
    return { send: ask, close };
  },
}));

beforeEach(() => {
  Object.assign(fake, { isThere: true, answer: () => ({ status: 200 }), closed: 0 });
  fake.calls.length = 0;
});

function order(keyUri: string, { cwd = "/", env = {}, options = {} } = {}): RawOrder {
  const context = { ...recordingContext(cwd), env };
  return { uri: keyUri, keyUri, options, context, concurrency: 1, pin: async () => undefined };
}

test("what is signed is a digest, and another one each time", () => {
  const digests = [probeDigest(), probeDigest()];
  expect(digests.map(({ length }) => length)).toEqual([32, 32]);
  expect(digests[0]).not.toEqual(digests[1]);
});

test("a scheme without a bare call is a mistake of usage", () => {
  expect(() => rawOf("none")).toThrow(
    expect.objectContaining({ exitCode: 2, code: "no_raw", message: "There is no bare call for none:" }),
  );
});

test.each([
  ["awskms", "@aws-sdk/client-kms", "awskms:///alias/op"],
  ["gcpkms", "@google-cloud/kms", "gcpkms://projects/p"],
  ["azurekms", "@azure/identity", "azurekms://op.vault.azure.net/keys/op/0123"],
])("%s needs %s", async (scheme, name, uri) => {
  fake.isThere = false;
  await expect(rawOf(scheme)(order(uri))).rejects.toMatchObject({
    exitCode: 2,
    code: "sdk_missing",
    message: `${name} is not installed, and --raw needs it`,
    hint: `npm install ${name}, or leave --raw out`,
  });
});

describe("AWS KMS", () => {
  test("signs a digest with the key, at its place", async () => {
    const [env, options] = [{ AWS_REGION: "eu-west-1" }, { region: "eu-west-1" }];
    const side = await rawOf("awskms")(order("awskms:///alias/op", { cwd: "/home", env, options }));
    expect(side.name).toBe("bare SDK");
    await side.sign();
    const id = "id of awskms:///alias/op";
    const input = {
      KeyId: id,
      MessageType: "DIGEST",
      SigningAlgorithm: "ECDSA_SHA_256",
      Message: expect.objectContaining({ length: 32 }),
    };
    expect(fake.calls).toEqual([["open", { id, options, env }, "/home"], [expect.objectContaining({ input })]]);
    await side.close();
    expect(fake.closed).toBe(1);
  });

  test("calls a failure by the name of its error", async () => {
    const { codeOf } = await rawOf("awskms")(order("awskms:///alias/op"));
    const error = Object.assign(new Error("secret"), { name: "ThrottlingException" });
    expect([codeOf(error), codeOf("text")]).toEqual(["ThrottlingException", "Error"]);
  });
});

describe("Google Cloud KMS", () => {
  const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1";

  test("signs a digest with the version, within two seconds", async () => {
    const side = await rawOf("gcpkms")(order(`gcpkms://${NAME}`));
    await side.sign();
    const request = { name: NAME, digest: { sha256: expect.objectContaining({ length: 32 }) } };
    expect([side.name, fake.calls]).toEqual(["bare SDK", [[request, { timeout: 2000 }]]]);
    await side.close();
    expect(fake.closed).toBe(1);
  });

  test("calls a failure by its status", async () => {
    const { codeOf } = await rawOf("gcpkms")(order(`gcpkms://${NAME}`));
    expect([codeOf(Object.assign(new Error("a"), { code: 14 })), codeOf(undefined)]).toEqual(["grpc 14", "grpc error"]);
  });
});

describe("Azure Key Vault", () => {
  test("signs a digest with the version", async () => {
    const side = await rawOf("azurekms")(order("azurekms://op.vault.azure.net/keys/op/0123"));
    await side.sign();
    const body = { alg: "ES256", value: expect.stringMatching(/^[\w-]{43}$/) };
    expect([side.name, fake.calls]).toEqual(["bare HTTP", [["POST", "/keys/op/0123/sign", body]]]);
    await side.close();
    expect(fake.closed).toBe(1);
  });

  test("needs a URI that it can read", async () => {
    await expect(rawOf("azurekms")(order("azurekms:none"))).rejects.toMatchObject({ exitCode: 2, code: "no_raw" });
  });
});

describe("Vault", () => {
  const env = { VAULT_ADDR: "https://vault.example:8200", VAULT_TOKEN: "1234", VAULT_CACERT: "ca.pem" };

  test.each([
    ["vault:///transit/keys/op?version=3", "transit", 3],
    ["vault:///a/b/keys/op", "a/b", 0],
  ])("signs a digest with %s", async (uri, mount, version) => {
    const side = await rawOf("vault")(order(uri, { cwd: "/home", env }));
    await side.sign();
    const [opened, sent] = fake.calls;
    expect(opened).toEqual(["open", env.VAULT_ADDR, expect.objectContaining({ caFile: "ca.pem" }), "/home"]);
    expect(sent).toEqual([
      {
        method: "POST",
        path: `/v1/${mount}/sign/op/sha2-256`,
        headers: { "x-vault-request": "true", "x-vault-token": "1234" },
        body: {
          input: expect.stringMatching(/^[\w+/]{43}=$/),
          prehashed: true,
          marshaling_algorithm: "asn1",
          key_version: version,
        },
      },
    ]);
    await side.close();
    expect([side.name, fake.closed]).toEqual(["bare HTTP", 1]);
  });

  test.each([
    ["an address", "vault:///transit/keys/op", { ...env, VAULT_ADDR: "" }],
    ["a token", "vault:///transit/keys/op", { ...env, VAULT_TOKEN: "" }],
    ["the name of a key", "vault:///transit", env],
  ])("needs %s, and does not log in", async (_what, uri, variables) => {
    await expect(rawOf("vault")(order(uri, { env: variables }))).rejects.toMatchObject({
      exitCode: 2,
      code: "no_token",
      hint: "Set VAULT_TOKEN, or leave --raw out",
    });
    expect(fake.calls).toEqual([]);
  });
});

describe("a call over HTTP", () => {
  test.each([200, 204, 299])("with the status %i is a signature", async (status) => {
    const side = httpSide(async () => ({ status, headers: {}, json: undefined }), close);
    await expect(side.sign()).resolves.toBeUndefined();
  });

  test.each([199, 300, 403, 503])("with the status %i is a failure, which is called so", async (status) => {
    const side = httpSide(async () => ({ status, headers: {}, json: undefined }), close);
    const error = await side.sign().then(
      () => "signed",
      (failure: unknown) => failure,
    );
    expect(side.codeOf(error)).toBe(`http ${status}`);
  });

  test("that has no answer is called by the code of its error", () => {
    const { codeOf } = httpSide(ask, close);
    expect([codeOf(Object.assign(new Error("a"), { code: "ECONNRESET" })), codeOf(7)]).toEqual(["ECONNRESET", "error"]);
  });
});

describe("a local key", () => {
  test("signs with node:crypto and the key of the file, as tokens have it", async () => {
    await using folder = await createKeyFolder();
    const publicKey = await folder.addKey("op.pem");
    const side = await rawOf("local")(order("local:op.pem", { cwd: folder.path }));
    await side.sign();
    const [, text, , signature] = fake.calls[0] as [string, Uint8Array, object, Buffer];
    const key = createPublicKey({ key: publicKey, format: "jwk" });
    expect(verify("sha256", text, { key, dsaEncoding: "ieee-p1363" }, signature)).toBe(true);
    expect(side.name).toBe("bare node:crypto");
    await side.close();
  });

  test("without a file signs with a new key", async () => {
    const side = await rawOf("local")(order("local:"));
    await side.sign();
    expect(fake.calls).toHaveLength(1);
    expect([side.codeOf({ code: "ERR" }), side.codeOf(7)]).toEqual(["ERR", "error"]);
  });
});
