import { once } from "node:events";
import { createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { RequestRecord, SourceRequest } from "../src/credential-requests.ts";
import { provideCredentials } from "./environment.ts";

const TOKEN_PATH = "/latest/api/token";
const ROLE_PATH = "/latest/meta-data/iam/security-credentials/op";
const METADATA = "169.254.169.254";

/** The status of the next answer, by its path. A path without one is cut. */
let statuses: Readonly<Record<string, number>> = {};
const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
  const status = statuses[incoming.url ?? ""];
  if (status === undefined) response.destroy();
  else response.writeHead(status).end("{}");
});
await once(server.listen(0, "127.0.0.1"), "listening");
const { port } = server.address() as AddressInfo;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Of each test, since it remembers whether there is a metadata service. */
let requests: typeof import("../src/credential-requests.ts");
beforeEach(async () => {
  provideCredentials(undefined);
  statuses = {};
  vi.resetModules();
  requests = await import("../src/credential-requests.ts");
});

/** Asks the server here in place of this host. */
async function ask(host: string, path: string, headers: Record<string, string> = {}): Promise<ClientRequest> {
  const asked = request({ host, path, headers, createConnection: () => connect(port, "127.0.0.1") });
  asked.on("error", () => undefined).on("response", (answer: IncomingMessage) => answer.resume());
  asked.end();
  if (!asked.closed) await new Promise((resolve) => void asked.once("close", resolve));
  return asked;
}

/** Asks one after the other as one question for credentials. */
async function question(
  ...asked: readonly (readonly [host: string, path: string])[]
): Promise<SourceRequest | undefined> {
  const record: RequestRecord = { last: undefined };
  await requests.recordRequests(record, async () => {
    for (const [host, path] of asked) await ask(host, path);
  });
  return record.last;
}

describe("a metadata service is known", () => {
  test.each<
    [what: string, statuses: Record<string, number>, asked: readonly (readonly [string, string])[], known: boolean]
  >([
    ["if it has given credentials", { [ROLE_PATH]: 200 }, [[METADATA, ROLE_PATH]], true],
    ["if it asks for a token", { [ROLE_PATH]: 401 }, [[METADATA, ROLE_PATH]], true],
    ["not if it has none", { [ROLE_PATH]: 404 }, [[METADATA, ROLE_PATH]], false],
    ["not if it is cut", {}, [[METADATA, ROLE_PATH]], false],
    ["not by a token alone", { [TOKEN_PATH]: 200 }, [[METADATA, TOKEN_PATH]], false],
    [
      "by the request that follows its token",
      { [TOKEN_PATH]: 200 },
      [
        [METADATA, TOKEN_PATH],
        [METADATA, ROLE_PATH],
      ],
      true,
    ],
    [
      "not by one that follows a refused token",
      { [TOKEN_PATH]: 403 },
      [
        [METADATA, TOKEN_PATH],
        [METADATA, ROLE_PATH],
      ],
      false,
    ],
    ["if another address of it is configured", {}, [["metadata.internal", TOKEN_PATH]], true],
    ["not by its address of IPv6", {}, [["fd00:ec2::254", TOKEN_PATH]], false],
    ["not by another source", { "/token": 200 }, [["oidc.internal", "/token"]], false],
    ["not by an answer for another path", { "/other": 200 }, [["other.internal", "/other"]], false],
  ])("%s", async (_what, answers, asked, known) => {
    statuses = answers;
    await question(...asked);
    expect(requests.isMetadataKnown()).toBe(known);
  });

  test("if a variable or a profile names it", () => {
    process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "";
    expect(requests.isMetadataKnown()).toBe(false);
    process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://169.254.169.254";
    expect(requests.isMetadataKnown()).toBe(true);
    delete process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"];
    requests.expectMetadata();
    expect(requests.isMetadataKnown()).toBe(true);
  });

  test("not by a request of others", async () => {
    statuses = { [ROLE_PATH]: 200 };
    await ask("metadata.internal", ROLE_PATH);
    expect(requests.isMetadataKnown()).toBe(false);
  });
});

describe("the status of a metadata service", () => {
  const both = [
    [METADATA, TOKEN_PATH],
    [METADATA, ROLE_PATH],
  ] as const;
  test.each<[what: string, statuses: Record<string, number>, status: number | undefined]>([
    ["is that of its last answer", { [TOKEN_PATH]: 200, [ROLE_PATH]: 404 }, 404],
    ["that refuses a token is its last one", { [TOKEN_PATH]: 200, [ROLE_PATH]: 401 }, 401],
    ["without version 1 is that of the token", { [TOKEN_PATH]: 503, [ROLE_PATH]: 401 }, 503],
    ["without version 1 is none if the token did not come", { [ROLE_PATH]: 401 }, undefined],
    ["with version 1 is its last one, whatever the token's was", { [TOKEN_PATH]: 503, [ROLE_PATH]: 404 }, 404],
  ])("%s", async (_what, answers, status) => {
    statuses = answers;
    expect(await question(...both)).toMatchObject({ source: "metadata", origin: `http://${METADATA}`, status });
  });

  test("without a request for a token is its own", async () => {
    statuses = { [ROLE_PATH]: 401 };
    expect(await question([METADATA, ROLE_PATH])).toMatchObject({ status: 401 });
    expect(await question([METADATA, ROLE_PATH], [METADATA, ROLE_PATH])).toMatchObject({ status: 401 });
  });

  test("comes with its answer", async () => {
    statuses = { [ROLE_PATH]: 404 };
    expect((await question([METADATA, ROLE_PATH]))?.response).toMatchObject({ statusCode: 404, complete: true });
  });
});

describe("a question that goes on to the metadata service", () => {
  const sso = ["sso.internal", "/federation/credentials?role_name=op"] as const;

  test("is still about SSO, unless there is such a service", async () => {
    statuses = { [sso[1]]: 503 };
    expect(await question(sso, [METADATA, TOKEN_PATH])).toMatchObject({ source: "sso", status: 503 });
    requests.expectMetadata();
    expect(await question(sso, [METADATA, TOKEN_PATH])).toMatchObject({ source: "metadata" });
  });

  test("is about the last source otherwise", async () => {
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://container.internal/credentials";
    const container = ["container.internal", "/credentials"] as const;
    expect(await question(container, [METADATA, TOKEN_PATH])).toMatchObject({ source: "metadata" });
    expect(await question(sso, container)).toMatchObject({ source: "container" });
    expect(await question(container, sso)).toMatchObject({ source: "sso" });
    expect(await question(sso, ["other.internal", "/other"])).toMatchObject({ source: "sso" });
  });
});

test("the last renewal of a token of SSO is that of /token alone", async () => {
  expect(requests.lastRenewal()).toBeUndefined();
  await question(
    ["portal.internal", "/federation/credentials"],
    ["signin.internal", "/v1/token"],
    [METADATA, TOKEN_PATH],
  );
  expect(requests.lastRenewal()).toBeUndefined();
  statuses = { "/token": 503 };
  await question(["oidc.internal", "/token"]);
  expect(requests.lastRenewal()).toMatchObject({ source: "sso", origin: "http://oidc.internal", status: 503 });
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://container.internal/token";
  await question(["container.internal", "/token"]);
  expect(requests.lastRenewal()).toMatchObject({ origin: "http://oidc.internal" });
});

describe("a request is for a container's endpoint", () => {
  const RELATIVE = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  const FULL = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  test.each<[variables: Record<string, string>, host: string, path: string, isFor: boolean]>([
    [{ [RELATIVE]: "/v2/credentials?id=1" }, "169.254.170.2", "/v2/credentials?id=1", true],
    [{ [RELATIVE]: "/v2/credentials" }, "169.254.170.3", "/v2/credentials", false],
    [{ [RELATIVE]: "/v2/credentials" }, "169.254.170.2", "/v2/other", false],
    [{ [RELATIVE]: "/v2/credentials" }, "169.254.170.2", "/v2/credentials?id=1", true],
    [{ [RELATIVE]: "/v2", [FULL]: "http://a.internal/x" }, "169.254.170.2", "/v2", true],
    [{ [RELATIVE]: "/v2", [FULL]: "http://a.internal/x" }, "a.internal", "/x", false],
    [{ [RELATIVE]: "", [FULL]: "http://a.internal/x" }, "a.internal", "/x", true],
    [{ [FULL]: "http://a.internal/x?id=1" }, "a.internal", "/x?id=1", true],
    [{ [FULL]: "http://a.internal/x?role=a:b/c" }, "a.internal", "/x?role=a%3Ab%2Fc", true],
    [{ [FULL]: "http://a.internal/x#1" }, "a.internal", "/x##1", true],
    [{ [FULL]: "http://a.internal:8080/x" }, "a.internal", "/x", false],
    [{ [FULL]: "credentials" }, "a.internal", "/credentials", false],
    [{}, "169.254.170.2", "/", false],
  ])("with %j, at %s%s: %s", async (variables, host, path, isFor) => {
    Object.assign(process.env, variables);
    const last = await question([host, path]);
    expect(last).toEqual(isFor ? { source: "container", origin: `http://${host}`, status: undefined } : undefined);
  });

  test("also if its host cannot be read, when it is for none", async () => {
    process.env[FULL] = "http://a.internal/x";
    const record: RequestRecord = { last: undefined };
    await requests.recordRequests(record, () => ask("a.internal", "/x", { host: "a b" }));
    expect(record.last).toBeUndefined();
    await requests.recordRequests(record, () => ask("a.internal", "/token", { host: "a b" }));
    expect(record.last).toEqual({ source: "sso", origin: undefined, status: undefined });
  });
});
