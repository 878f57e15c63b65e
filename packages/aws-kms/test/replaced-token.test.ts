import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterAll, expect, test, vi } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideCredentials } from "./environment.ts";

const TOKENS = ["first-0123456789abcdef", "ZYXWVUTSRQPONMLKJIHGFEDCBA"] as const;

/** Gives a token that ends soon, so that the client asks for the next one while it uses this one. */
let asked = 0;
const source = createServer((_request, response) => {
  const Token = TOKENS[Math.min(asked, 1)];
  asked += 1;
  const Expiration = new Date(Date.now() + 120_000).toISOString();
  response.end(JSON.stringify({ AccessKeyId: "AKIA1", SecretAccessKey: "secret-1", Token, Expiration }));
});

/** Something in front of KMS that repeats what it is sent, when it is told to answer. */
const waiting: { readonly token: string; readonly response: ServerResponse }[] = [];
const kms = createServer((request, response) => {
  const token = String(request.headers["x-amz-security-token"]);
  request.resume().once("end", () => waiting.push({ token, response }));
});

const servers = [source, kms];
await Promise.all(servers.map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
const [atSource, atKms] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

test("a session token that was replaced while a call goes on is not shown", async () => {
  provideCredentials(undefined);
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${atSource}/credentials`;
  asked = 0;
  waiting.length = 0;
  const signer = await openAwsKmsSigner({
    key: "arn:aws:kms:eu-west-1:444455556666:key/f4dde790-63d2-4b00-b4a0-7f1cc8bab8ea",
    endpoint: String(atKms),
    publicKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }),
    transport: "sdk",
    policy: { attemptTimeoutMs: 30_000, deadlineMs: 60_000, maxAttempts: 1 },
  });
  const refused: Promise<unknown>[] = [];
  await vi.waitFor(
    async () => {
      refused.push(signer.sign(new Uint8Array(32)).catch((error: unknown) => error));
      await vi.waitFor(() => expect(waiting).toHaveLength(refused.length), { timeout: 5_000 });
      expect(waiting.map(({ token }) => token)).toEqual(expect.arrayContaining([...TOKENS]));
    },
    { timeout: 20_000 },
  );
  for (const { token, response } of waiting) {
    response.writeHead(400, { "content-type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify({ __type: "AccessDeniedException", message: `no access for ${token}` }));
  }
  for (const error of await Promise.all(refused)) {
    expect(error).toMatchObject({ code: "access_denied" });
    for (const token of TOKENS) expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(token);
  }
  await signer.close();
});
