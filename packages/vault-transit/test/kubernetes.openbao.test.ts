import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createKey, opPolicy, writePolicy } from "./support/server.ts";
import { rejection, signsTruly } from "./support/signatures.ts";
import { serviceAccountToken, startTokenReviews } from "./support/token-review.ts";

test("a pod logs in with its projected token, and reads it again for the next login", async () => {
  await using server = await startOpenbao();
  await using reviews = await startTokenReviews();
  const folder = await mkdtemp(join(tmpdir(), "signpost-vault-kubernetes-"));
  const jwtFile = join(folder, "token");
  await createKey(server, "transit/keys/op");
  await writePolicy(server, "op", opPolicy());
  await server.must("POST", "sys/auth/kubernetes", { type: "kubernetes" });
  await server.must("POST", "auth/kubernetes/config", {
    kubernetes_host: reviews.host,
    token_reviewer_jwt: serviceAccountToken(0),
    disable_local_ca_jwt: true,
    // Required, although the host is plain http.
    kubernetes_ca_cert: selfSignedCertificate("kubernetes.test").cert,
  });
  const role = { bound_service_account_names: "op", bound_service_account_namespaces: "login", audience: "vault" };
  await server.must("POST", "auth/kubernetes/role/op", { ...role, token_policies: "op", token_ttl: "1h" });

  const [first, second] = [serviceAccountToken(1), serviceAccountToken(2)];
  await writeFile(jwtFile, first);
  const options = { address: server.address, key: "op", auth: { method: "kubernetes", role: "op", jwtFile } } as const;
  await using signer = await openVaultTransitSigner(options);
  expect(await signsTruly(signer)).toBe(true);
  await writeFile(jwtFile, second);
  await server.must("PUT", "sys/leases/revoke-prefix/auth/kubernetes/login", { sync: true });
  expect(await signsTruly(signer)).toBe(true);
  expect(reviews.reviewed).toEqual([first, second]);

  const stranger = { ...options, auth: { ...options.auth, role: "other" } };
  const error = await rejection(openVaultTransitSigner(stranger));
  expect(error).toMatchObject({ code: "access_denied" });
  expect(String(error)).not.toContain(second);
  await rm(folder, { recursive: true });
});
