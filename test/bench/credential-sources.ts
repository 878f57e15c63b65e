// Every kind of source of credentials, on one port: a container's endpoint, the metadata service and STS of AWS, the
// metadata server and a token endpoint of Google.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type SourceName =
  | "container endpoint"
  | "metadata service"
  | "STS with a web identity"
  | "metadata server"
  | "token endpoint";

export interface CredentialSources {
  /** Environment of a process whose credentials come from this source. */
  environment(name: SourceName): Readonly<Record<string, string>>;
  /** As many requests as this get no answer. */
  hangNext(count: number): void;
  stop(): Promise<void>;
}

export async function startCredentialSources(): Promise<CredentialSources> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-bench-"));
  let hangs = 0;
  const server = createServer((request, response) => {
    if (hangs > 0) return void (hangs -= 1);
    response.setHeader("metadata-flavor", "Google");
    const body = answerTo(request);
    if (body === undefined) response.statusCode = 404;
    else if (body.startsWith("{")) response.setHeader("content-type", "application/json");
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokenFile = join(folder, "token");
  await writeFile(tokenFile, "token-of-the-platform");
  const googleFile = join(folder, "google.json");
  await writeFile(googleFile, JSON.stringify(workloadIdentity(`http://${host}/token`, tokenFile)));

  const environments: Readonly<Record<SourceName, Readonly<Record<string, string>>>> = {
    "container endpoint": { AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}/container` },
    "metadata service": { AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://${host}` },
    "STS with a web identity": {
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AWS_ROLE_ARN: "arn:aws:iam::111122223333:role/op",
      AWS_ENDPOINT_URL_STS: `http://${host}/sts`,
    },
    "metadata server": { GCE_METADATA_HOST: host },
    "token endpoint": { GOOGLE_APPLICATION_CREDENTIALS: googleFile },
  };
  return {
    // No credentials of this machine.
    environment: (name) => ({ HOME: folder, CLOUDSDK_CONFIG: folder, ...environments[name] }),
    hangNext: (count) => {
      hangs = count;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function answerTo({ url = "" }: IncomingMessage): string | undefined {
  const Expiration = new Date(Date.now() + 3_600_000).toISOString();
  const aws = { AccessKeyId: "AKIABENCHMARKEXAMPLE", SecretAccessKey: "benchmark", Token: "benchmark", Expiration };
  if (url.startsWith("/container")) return JSON.stringify(aws);
  if (url === "/latest/api/token") return "benchmark";
  if (url === "/latest/meta-data/iam/security-credentials/") return "op";
  if (url.startsWith("/latest/meta-data/iam")) return JSON.stringify({ Code: "Success", ...aws });
  if (url.startsWith("/sts")) return assumedRole(Expiration);
  if (url === "/token" || url.includes("/service-accounts/")) {
    return JSON.stringify({ access_token: "ya29.benchmark", token_type: "Bearer", expires_in: 3600 });
  }
  return url === "/computeMetadata/v1/instance" ? "{}" : undefined;
}

function assumedRole(expiration: string): string {
  const credentials = `<AccessKeyId>AKIABENCHMARKEXAMPLE</AccessKeyId><SecretAccessKey>benchmark</SecretAccessKey><SessionToken>benchmark</SessionToken><Expiration>${expiration}</Expiration>`;
  return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>${credentials}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
}

function workloadIdentity(tokenUrl: string, tokenFile: string): object {
  return {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: tokenUrl,
    credential_source: { file: tokenFile },
  };
}
