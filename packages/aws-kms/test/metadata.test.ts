import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { watchCredentialRequests } from "../src/credential-requests.ts";
import { signerErrorFrom } from "../src/errors.ts";
import { provideCredentials } from "./environment.ts";

const TARGET = { key: "alias/op-2026", region: "eu-west-1" };
const none = Object.assign(new Error("Could not load credentials from any providers"), {
  name: "CredentialsProviderError",
});

/** Asks the metadata service of EC2, which `port` plays. */
function askMetadata(port: number): Promise<number | undefined> {
  const path = "/latest/meta-data/iam/security-credentials/op";
  const createConnection = () => connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    const asked = request({ host: "169.254.169.254", path, createConnection }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    asked.once("error", () => resolve(undefined)).end();
  });
}

test("a metadata service that is not there is no source, until it has given credentials in this process", async () => {
  provideCredentials(undefined);
  watchCredentialRequests();
  const since = performance.now();
  await askMetadata(1);
  expect(signerErrorFrom(none, "kms:Sign", TARGET, since)).toMatchObject({ code: "access_denied", transient: false });

  const server = createServer((_request, response) => response.end("{}"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  await askMetadata((server.address() as AddressInfo).port);
  server.close();
  await askMetadata(1);
  expect(signerErrorFrom(none, "kms:Sign", TARGET, since)).toMatchObject({ code: "unavailable", transient: true });
});
