import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Signer } from "@signpost/core";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import {
  startFakeVaultTransit,
  type FakeVaultTransit,
  type VaultReply,
} from "@signpost/test-backends/fake-vault-transit";
import { DIGEST } from "./support/auth-fixture.ts";
import { rejection } from "./support/signatures.ts";

let fake: FakeVaultTransit;
let active: FakeVaultTransit;
let signer: Signer;

beforeAll(async () => {
  [fake, active] = [await startFakeVaultTransit(), await startFakeVaultTransit()];
  const auth = { method: "token", token: fake.token } as const;
  signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: false });
});
afterEach(() => {
  fake.reset();
  active.reset();
});
afterAll(async () => {
  await signer.close();
  await Promise.all([fake.stop(), active.stop()]);
});

const redirect = (location: string, status = 307): VaultReply => ({ status, headers: { location }, body: "" });

test("a redirect of a standby is followed to a node that the caller has named, with the same request", async () => {
  const auth = { method: "token", token: fake.token } as const;
  const clusterAddresses = [active.address];
  const options = { address: fake.address, clusterAddresses, key: "op", auth, policy: false } as const;
  const signer = await openVaultTransitSigner(options);
  active.accepted = [fake.token];
  fake.replyNext(redirect(`${active.address}/v1/somewhere/else`));
  expect(await signer.sign(DIGEST)).toHaveLength(64);
  expect(active.requests).toMatchObject([{ path: "transit/sign/op/sha2-256", token: fake.token }]);
  await signer.close();
});

test.each([307, 308])(
  "a redirect of a standby is not followed to a stranger, who never sees the token (%i)",
  async (status) => {
    fake.replyNext(redirect(`${active.address}/v1/transit/sign/op/sha2-256`, status));
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    expect(String(error)).toContain(`redirects to ${active.address}, which is not in clusterAddresses`);
    // Once is enough.
    expect(String(error).split(fake.address)).toHaveLength(2);
    expect(active.requests).toEqual([]);
  },
);

test("a redirect of a standby is followed once", async () => {
  fake.replyNext(redirect(`${fake.address}/v1/x`), 2);
  const error = await rejection(signer.sign(DIGEST));
  expect(error).toMatchObject({ code: "unavailable" });
  expect(String(error)).toContain("redirects too");
});

test("a redirect of a standby that leads nowhere is not followed", async () => {
  fake.replyNext({ status: 307, body: "" });
  expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "unavailable" });
});

test("a redirect of a standby to a host with the token in its name does not show it", async () => {
  fake.replyNext(redirect(`http://${fake.token.toUpperCase()}.example/`));
  const error = await rejection(signer.sign(DIGEST));
  expect(error).toMatchObject({ code: "unavailable" });
  expect(inspect(error, { depth: 10 })).not.toContain(fake.token);
});
