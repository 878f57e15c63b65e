import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The part of the Kubernetes API that the server's auth method calls. */
export interface TokenReviews extends AsyncDisposable {
  readonly host: string;
  /** The JWTs that were reviewed. */
  readonly reviewed: readonly string[];
}

/** Accepts each JWT as that of the service account `login/op`. */
export async function startTokenReviews(): Promise<TokenReviews> {
  const reviewed: string[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const { spec } = JSON.parse(text) as { spec: { token: string } };
      reviewed.push(spec.token);
      const user = { username: "system:serviceaccount:login:op", uid: UID, groups: ["system:serviceaccounts"] };
      response.writeHead(201, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          status: { authenticated: true, user, audiences: ["vault"] },
        }),
      );
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  return { host: `http://127.0.0.1:${port}`, reviewed, [Symbol.asyncDispose]: stop };
}

const UID = "1b6a7c1e-0c5b-4a3e-9d53-52cf15b7f0f5";

/** A projected token of that service account, whose signature nothing checks but Kubernetes. */
export function serviceAccountToken(serial: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "https://kubernetes.default.svc",
    sub: "system:serviceaccount:login:op",
    aud: ["vault"],
    iat: now,
    nbf: now,
    exp: now + 600,
    jti: String(serial),
    "kubernetes.io": { namespace: "login", serviceaccount: { name: "op", uid: UID } },
  };
  return [part({ alg: "RS256", kid: "cluster" }), part(claims), Buffer.alloc(256, serial).toString("base64url")].join(
    ".",
  );
}
