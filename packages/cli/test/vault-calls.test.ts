import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openRest } from "../src/backends/rest.ts";
import {
  dataOf,
  openVaultCalls,
  tlsOf,
  vaultAddress,
  vaultHeaders,
  vaultKeyName,
} from "../src/backends/vault-transit.ts";
import { createKeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// Calls over HTTP that the adapters do not make: what is sent, what is read, and what is left when they are over.

interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

async function started(answer: (response: ServerResponse) => void = (response) => void response.end("{}")) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      seen.push({
        line: `${request.method} ${request.url}`,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      answer(response);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const connections = async (): Promise<number> =>
    new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  return { seen, connections, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("a server over HTTP", () => {
  test("is asked over one connection that stays open until the calls are over", async () => {
    const { seen, connections, origin } = await started();
    const rest = await openRest(origin, {}, "/");
    for (const path of ["/a", "/b?c=d"]) await rest.send({ method: "GET", path, headers: { "x-one": "1" } });
    expect(seen.map(({ line }) => line)).toEqual(["GET /a", "GET /b?c=d"]);
    expect(seen[0]?.headers).toMatchObject({ "x-one": "1" });
    expect(seen[0]?.headers).not.toHaveProperty("content-type");
    expect(await connections()).toBe(1);
    rest.close();
    await expect.poll(connections).toBe(0);
  });

  test("is asked over one connection with TLS too, by the name and the authority that are given", async () => {
    const { cert, key } = selfSignedCertificate("vault.test");
    const folder = await createKeyFolder();
    await folder.write("ca.pem", cert);
    const server = createTlsServer({ cert, key }, (_request, response) => void response.end("{}"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    let connections = 0;
    server.on("secureConnection", () => (connections += 1));
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await folder[Symbol.asyncDispose]();
    });
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const request = { method: "GET", path: "/", headers: {} } as const;
    const rest = await openRest(origin, { caFile: "ca.pem", serverName: "vault.test" }, folder.path);
    for (let call = 0; call < 3; call += 1) expect(await rest.send(request)).toMatchObject({ status: 200, json: {} });
    expect(connections).toBe(1);
    rest.close();
    for (const tls of [{ serverName: "vault.test" }, { caFile: "ca.pem", serverName: "other.test" }]) {
      const refused = await openRest(origin, tls, folder.path);
      await expect(refused.send(request)).rejects.toThrow();
      refused.close();
    }
  });

  test("gets a body as JSON, with its length in bytes", async () => {
    const { seen, origin } = await started();
    const rest = await openRest(origin, {}, "/");
    await rest.send({ method: "POST", path: "/", headers: {}, body: { name: "é" } });
    expect(seen[0]).toMatchObject({
      line: "POST /",
      body: '{"name":"é"}',
      headers: { "content-type": "application/json", "content-length": "13" },
    });
    rest.close();
  });

  test.each<[what: string, status: number, body: string, json: unknown]>([
    ["JSON", 200, '{"a":1}', { a: 1 }],
    ["JSON of an error", 404, '{"errors":[]}', { errors: [] }],
    ["nothing", 204, "", undefined],
    ["what is not JSON", 200, "<html>", undefined],
    ["a redirect, which is not followed", 302, "{}", {}],
  ])("may answer with %s", async (_what, status, body, json) => {
    const { seen, origin } = await started((response) => {
      response.writeHead(status, { location: "/other" });
      response.end(body);
    });
    const rest = await openRest(origin, {}, "/");
    expect(await rest.send({ method: "GET", path: "/", headers: {} })).toMatchObject({ status, json });
    expect(seen).toHaveLength(1);
    rest.close();
  });

  test("may answer with up to 2 MiB", async () => {
    for (const [length, isRead] of [
      [2_097_152, true],
      [2_097_153, false],
    ] as const) {
      const { origin } = await started((response) => void response.end(`"${"x".repeat(length - 2)}"`));
      const rest = await openRest(origin, {}, "/");
      const outcome = rest.send({ method: "GET", path: "/", headers: {} });
      if (isRead) expect((await outcome).json).toHaveLength(length - 2);
      else await expect(outcome).rejects.toMatchObject({ code: "too_long" });
      rest.close();
    }
  });

  test("may have files for TLS of up to 1 MiB", async () => {
    await using folder = await createKeyFolder();
    await folder.write("most.pem", "a".repeat(1_048_576));
    await folder.write("more.pem", "a".repeat(1_048_577));
    for (const name of ["caFile", "certFile", "keyFile"]) {
      (await openRest("https://vault.test", { [name]: "most.pem" }, folder.path)).close();
      await expect(openRest("https://vault.test", { [name]: "more.pem" }, folder.path)).rejects.toThrow(/1,?048,?576/);
    }
  });

  test("that does not answer is left when the signal aborts", async () => {
    const { seen, origin } = await started(() => {});
    const rest = await openRest(origin, {}, "/");
    const controller = new AbortController();
    const outcome = rest.send({ method: "GET", path: "/", headers: {}, signal: controller.signal });
    await expect.poll(() => seen.length).toBe(1);
    controller.abort();
    await expect(outcome).rejects.toMatchObject({ name: "AbortError" });
    rest.close();
  });
});

const ENV = { VAULT_ADDR: "https://vault.example", VAULT_TOKEN: "hvs.secret-token" };

describe("calls of Vault", () => {
  test("have the token and the namespace, go below /v1/, and end with the command or after five seconds", async () => {
    const { seen, connections, origin } = await started();
    const { timeout } = AbortSignal;
    const limits: number[] = [];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      limits.push(ms);
      return timeout(60_000);
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const env = { ...ENV, VAULT_ADDR: origin, VAULT_NAMESPACE: "team" };
    const calls = await openVaultCalls({}, { ...recordingContext("/"), env });
    await calls?.send("POST", "transit/keys/op", { type: "ecdsa-p256" });
    expect(seen).toEqual([
      expect.objectContaining({ line: "POST /v1/transit/keys/op", body: '{"type":"ecdsa-p256"}' }),
    ]);
    expect(seen[0]?.headers).toMatchObject({
      "x-vault-request": "true",
      "x-vault-token": "hvs.secret-token",
      "x-vault-namespace": "team",
    });
    expect(limits).toEqual([5000]);
    expect(calls?.repeatsToken("got hvs.secret-token")).toBe(true);
    expect(calls?.repeatsToken("got nothing")).toBe(false);
    expect(await connections()).toBe(1);
    calls?.close();
    await expect.poll(connections).toBe(0);
    const leaving = new AbortController();
    leaving.abort(new Error("gone"));
    const late = await openVaultCalls({}, { ...recordingContext("/"), env, signal: leaving.signal });
    await expect(late?.send("GET", "sys/health")).rejects.toMatchObject({ name: "AbortError" });
    late?.close();
  });

  test.each<[what: string, options: object, env: NodeJS.ProcessEnv]>([
    ["no address", {}, { VAULT_TOKEN: "t" }],
    ["an address that is none", { address: "vault" }, { VAULT_TOKEN: "t" }],
    ["no token", {}, { VAULT_ADDR: ENV.VAULT_ADDR }],
    ["an empty token", {}, { ...ENV, VAULT_TOKEN: "" }],
    ["a login", { auth: { method: "approle", roleId: "r" } }, ENV],
  ])("are none with %s", async (_what, options, env) => {
    expect(await openVaultCalls({ ...options }, { ...recordingContext("/"), env })).toBeUndefined();
  });

  test.each<[options: object, env: NodeJS.ProcessEnv, address: string | undefined]>([
    [{}, ENV, "https://vault.example"],
    [{}, { ...ENV, BAO_ADDR: "https://bao.example" }, "https://bao.example"],
    [{}, { ...ENV, BAO_ADDR: "" }, "https://vault.example"],
    [{ address: "https://own.example" }, ENV, "https://own.example"],
    [{ address: 7 }, ENV, "https://vault.example"],
    [{}, {}, undefined],
  ])("with %j and %j are for the address %s", (options, env, address) => {
    expect(vaultAddress({ ...options }, env)).toBe(address);
  });

  test("have the token of a function, of a file, of the environment, or of an agent", async () => {
    await using folder = await createKeyFolder();
    await writeFile(join(folder.path, "token"), " from-file\n");
    const context = { ...recordingContext(folder.path), env: { VAULT_TOKEN: "from-env" } };
    const tokenOf = async (auth: unknown): Promise<unknown> => {
      const headers = await vaultHeaders({ auth }, context);
      return headers?.["x-vault-token"];
    };
    expect(await tokenOf({ token: async () => "from-function" })).toBe("from-function");
    expect(await tokenOf({ path: "token" })).toBe("from-file");
    expect(await tokenOf(undefined)).toBe("from-env");
    expect(await vaultHeaders({ auth: { method: "none" } }, context)).toEqual({ "x-vault-request": "true" });
    expect(await vaultHeaders({ namespace: "own" }, context)).toMatchObject({ "x-vault-namespace": "own" });
    for (const [length, isRead] of [
      [16_384, true],
      [16_385, false],
    ] as const) {
      await writeFile(join(folder.path, "token"), "t".repeat(length));
      if (isRead) expect(await tokenOf({ path: "token" })).toHaveLength(length);
      else await expect(tokenOf({ path: "token" })).rejects.toThrow("auth.path");
    }
  });

  test("have the files of the options, or of the environment", () => {
    const env = {
      VAULT_CACERT: "ca",
      VAULT_CLIENT_CERT: "cert",
      VAULT_CLIENT_KEY: "key",
      VAULT_TLS_SERVER_NAME: "name",
    };
    expect(tlsOf({}, env)).toEqual({ caFile: "ca", certFile: "cert", keyFile: "key", serverName: "name" });
    const tls = { caFile: "1", certFile: "2", keyFile: "3", serverName: "4" };
    expect(tlsOf({ tls }, env)).toEqual(tls);
    expect(tlsOf({}, {})).toEqual({});
  });
});

test.each<[uri: string, name: unknown]>([
  ["vault:///transit/keys/op", { mount: "transit", key: "op", version: undefined }],
  ["VAULT:///a/b/keys/op?version=3", { mount: "a/b", key: "op", version: "3" }],
  ["vault:///transit/keys/op?version=x", undefined],
  ["vault:///transit/keys/op?version=3&a=b", undefined],
  ["vault:///transit/keys/", undefined],
  ["vault:///transit/op", undefined],
  ["vault:///keys/op", undefined],
  ["xvault:///transit/keys/op", undefined],
  ["awskms:///alias/op", undefined],
])("%s has the parts %o", (uri, name) => {
  expect(vaultKeyName(uri)).toEqual(name);
});

test.each<[status: number, json: unknown, data: unknown]>([
  [200, { data: { a: 1 } }, { a: 1 }],
  [299, { data: { a: 1 } }, { a: 1 }],
  [199, { data: { a: 1 } }, undefined],
  [300, { data: { a: 1 } }, undefined],
  [200, { data: null }, undefined],
  [200, { data: "text" }, undefined],
  [200, undefined, undefined],
  [200, {}, undefined],
])("the data of %d %j is %j", (status, json, data) => {
  expect(dataOf({ status, json, headers: {} })).toEqual(data);
});
