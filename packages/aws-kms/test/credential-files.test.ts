import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideCredentials } from "./environment.ts";

beforeEach(() => provideCredentials(undefined));

/** What is mounted where a file was meant: a folder, as Kubernetes makes of a volume's path that is not there. */
const FOLDER = tmpdir();

test.each<[string, Readonly<Record<string, string>>]>([
  ["web identity", { AWS_ROLE_ARN: "arn:aws:iam::111122223333:role/op", AWS_WEB_IDENTITY_TOKEN_FILE: FOLDER }],
  [
    "EKS Pod Identity",
    {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:1/v1/credentials",
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: FOLDER,
    },
  ],
])("a folder in place of the token's file of %s is access_denied, and named so", async (_source, variables) => {
  Object.assign(process.env, variables);
  const opening = openAwsKmsSigner({
    key: "alias/op-2026",
    region: "eu-west-1",
    endpoint: "http://127.0.0.1:1",
    policy: { maxAttempts: 1 },
  });
  await expect(opening).rejects.toMatchObject({
    code: "access_denied",
    transient: false,
    message: expect.stringMatching(/could not get credentials: EISDIR$/),
  });
});
