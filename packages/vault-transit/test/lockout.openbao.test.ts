import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { openVaultTransitSigner, type VaultTransitAuth } from "@signpost/vault-transit";
import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { createAppRole, createKey, opPolicy, writePolicy, type AppRole } from "./support/server.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

let server: Openbao;
const createRole = (name: string): Promise<AppRole> => createAppRole(server, name, { token_policies: "op" });
const open = (auth: VaultTransitAuth): Promise<GuardedSigner> =>
  openVaultTransitSigner({ address: server.address, key: "op", auth, policy: {} });

beforeAll(async () => {
  server = await startOpenbao();
  await createKey(server, "transit/keys/op");
  await writePolicy(server, "op", opPolicy());
  await server.must("POST", "sys/auth/approle", { type: "approle" });
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => server.stop());

test.each(["one after the other", "at the same time"])("a wrong secret id does not lock the role: %s", async (how) => {
  const right = await createRole(how.replaceAll(" ", "-"));
  const wrong = { ...right, secretId: "wrong" };
  const openings = Array.from({ length: 8 }, () => () => rejection(open(wrong)));
  const errors: unknown[] = [];
  if (how === "at the same time") errors.push(...(await Promise.all(openings.map((opening) => opening()))));
  else for (const opening of openings) errors.push(await opening());
  for (const error of errors) expect(error).toMatchObject({ code: "access_denied", transient: false });
  expect(String(errors.at(-1))).toContain("the server refused this secret id before, so it was not sent again");
  await using signer = await open(right);
  expect(await signsTruly(signer)).toBe(true);
});

test("many wrong secret ids do not lock the role", async () => {
  const right = await createRole("many");
  const errors: unknown[] = [];
  for (let count = 0; count < 8; count += 1) errors.push(await rejection(open({ ...right, secretId: `w${count}` })));
  expect(String(errors.at(-1))).toContain("the server refused 4 logins of this role, so no other secret id was sent");
  const ids = { role_id: right.roleId, secret_id: right.secretId };
  const login = await server.call("POST", "auth/approle/login", ids);
  expect(login.status).toBe(200);
});

test("a secret id that was refused is sent again after 15 minutes, when the server no longer counts it", async () => {
  const right = await createRole("later");
  const wrong = { ...right, secretId: "wrong" };
  for (let count = 0; count < 3; count += 1) await rejection(open(wrong));
  const later = { wall: Date.now() + 900_001, monotonic: performance.now() + 900_001 };
  vi.spyOn(Date, "now").mockReturnValue(later.wall);
  expect(String(await rejection(open(wrong)))).toContain("it was not sent again");
  vi.spyOn(performance, "now").mockReturnValue(later.monotonic);
  expect(String(await rejection(open(wrong)))).toContain("the server refused the credentials");
});
