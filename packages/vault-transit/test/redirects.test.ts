import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Signer } from "@signpost/core";
import { openVaultTransitSigner, type VaultTransitDispatcherLike } from "@signpost/vault-transit";
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

test("the answers of standbys are read to their end, so that their connections can be used again", async () => {
  const read: string[] = [];
  async function* body(origin: string): AsyncGenerator<Uint8Array> {
    yield Buffer.from("moved");
    read.push(origin);
  }
  const [standby, node] = ["https://standby.example", "https://node.example"];
  const dispatcher: VaultTransitDispatcherLike = {
    request: async ({ origin }) => ({ statusCode: 307, headers: { location: `${node}/v1/x` }, body: body(origin) }),
  };
  const auth = { method: "none" } as const;
  const { publicKey } = signer;
  const named = { address: standby, key: "op", keyVersion: 1, publicKey, auth, dispatcher, policy: false } as const;
  const [strange, followed] = [
    await openVaultTransitSigner(named),
    await openVaultTransitSigner({ ...named, clusterAddresses: [node] }),
  ];
  expect(String(await rejection(strange.sign(DIGEST)))).toContain("not in clusterAddresses");
  expect(read.splice(0)).toEqual([standby]);
  expect(String(await rejection(followed.sign(DIGEST)))).toContain("redirects too");
  expect(read).toEqual([standby, node]);
  await Promise.all([strange.close(), followed.close()]);
});
