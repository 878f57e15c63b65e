import { createPublicKey, generateKeyPairSync, sign as signWith } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { spkiToJwk } from "@signpost/core";
import { vaultTransitKeys, type VaultTransitKeys } from "@signpost/vault-transit";
import type { ApiRequest } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";
import type { HttpAnswer } from "../src/exchange.ts";

// Which entries the versions of a key become, without a network.

const server = vi.hoisted(() => ({
  key: {} as Record<string, unknown>,
  requests: [] as ApiRequest[],
  sign: (_version: number): Partial<HttpAnswer> => ({}),
  notes: [] as string[],
  status: "ready" as "ready" | "degraded",
  closes: 0,
}));
vi.mock("../src/connection.ts", () => ({
  connect: async (): Promise<Connection> => ({
    address: "https://vault.example:8200",
    namespace: undefined,
    notes: () => server.notes,
    status: () => server.status,
    call: async (_target, request) => {
      server.requests.push(request);
      const version = Number(Reflect.get(request.body ?? {}, "key_version"));
      const answer = { status: 200, errors: [], hasErrors: false, repeatsSecrets: false, retryAfter: undefined };
      if (request.method === "GET") return { ...answer, json: { data: { ...server.key } } };
      return { ...answer, json: undefined, ...server.sign(version) };
    },
    close: async () => void (server.closes += 1),
  }),
}));

const newKey = (): { readonly pem: string; readonly sign: (digest: Buffer) => Buffer } => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    pem: publicKey.export({ type: "spki", format: "pem" }) as string,
    sign: (digest) => signWith("sha256", digest, privateKey),
  };
};
/** The public key with the same x and the other y. */
function negated(pem: string): string {
  const jwk = createPublicKey(pem).export({ format: "jwk" });
  const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
  const y = prime - BigInt(`0x${Buffer.from(jwk.y ?? "", "base64url").toString("hex")}`);
  const other = Buffer.from(y.toString(16).padStart(64, "0"), "hex").toString("base64url");
  return createPublicKey({ key: { ...jwk, y: other }, format: "jwk" }).export({
    type: "spki",
    format: "pem",
  }) as string;
}
const keys = [newKey(), newKey(), newKey()] as const;
/** Between the announcement of a version and its activation there is the skew of clocks, too. */
const SKEW_MS = 60_000;
/** Version 1 was made at midnight, and each other one a day later. */
const madeAt = (version: number, days = version - 1): Date => new Date(Date.UTC(2026, 0, 1 + days));
const listed = (...versions: readonly number[]): Record<string, object> =>
  Object.fromEntries(
    versions.map((version) => [
      version,
      { public_key: keys[version - 1]?.pem, creation_time: madeAt(version).toISOString() },
    ]),
  );

beforeEach(() => {
  server.key = {
    type: "ecdsa-p256",
    keys: listed(1, 2, 3),
    latest_version: 3,
    min_available_version: 0,
    min_decryption_version: 1,
    min_encryption_version: 0,
  };
  const der = keys[0].sign(Buffer.alloc(1)).toString("base64");
  server.sign = (version) => ({ json: { data: { signature: `vault:v${version}:${der}`, key_version: version } } });
});
afterEach(() => {
  server.requests.length = 0;
  server.notes = [];
  server.status = "ready";
  server.closes = 0;
});

const open = (others: object = {}): Promise<VaultTransitKeys> =>
  vaultTransitKeys({ address: "https://vault.example:8200", key: "op", auth: { method: "none" }, ...others });
const signing = ({ versions }: VaultTransitKeys): readonly number[] =>
  versions.filter((version) => "signer" in version).map(({ keyVersion }) => keyVersion);
const datesOf = ({ versions }: VaultTransitKeys): readonly object[] =>
  versions.map(({ keyVersion, creationTime, announcedFrom, activeFrom }) => ({
    keyVersion,
    creationTime,
    announcedFrom,
    activeFrom,
  }));
const signed = (): readonly unknown[] =>
  server.requests.filter(({ method }) => method === "POST").map(({ body }) => Reflect.get(body ?? {}, "key_version"));

describe("the versions of a key", () => {
  test("have the dates that follow from their creation, the first one from then on", async () => {
    await using found = await open();
    const hour = 3_600_000;
    expect(datesOf(found)).toEqual(
      [1, 2, 3].map((keyVersion) => {
        const creationTime = madeAt(keyVersion);
        const announcedFrom = new Date(creationTime.getTime() + (keyVersion === 1 ? 0 : hour / 4));
        const activeFrom = new Date(announcedFrom.getTime() + (keyVersion === 1 ? 0 : 4 * hour + SKEW_MS));
        return { keyVersion, creationTime, announcedFrom, activeFrom };
      }),
    );
    expect(server.requests.map(({ method, path }) => [method, path])).toEqual([["GET", "transit/keys/op"]]);
  });

  test("are read from the mount that is named, with the given delays", async () => {
    await using found = await open({ mount: "team/transit", pickUpMinutes: 30, announceHours: 2 });
    expect(server.requests.map(({ path }) => path)).toEqual(["team/transit/keys/op"]);
    const [, second] = found.versions;
    expect(second).toMatchObject({
      announcedFrom: new Date(madeAt(2).getTime() + 30 * 60_000),
      activeFrom: new Date(madeAt(2).getTime() + 150 * 60_000 + SKEW_MS),
      signer: { uri: "vault:///team/transit/keys/op?version=2" },
    });
  });

  test.each([
    [{ min_encryption_version: 2 }, [2, 3]],
    [{ min_encryption_version: 3 }, [3]],
    [{ min_decryption_version: 2 }, [2, 3]],
  ])("with %j sign only if the server lets them", async (changes, expected) => {
    Object.assign(server.key, changes);
    await using found = await open();
    expect(signing(found)).toEqual(expected);
    expect(found.versions[0]).toMatchObject({ publicKey: spkiToJwk(keys[0].pem) });
  });

  test("of a key that was imported sign once, and those without a private half are published only", async () => {
    server.key["imported_key"] = true;
    const { sign } = server;
    server.sign = (version) =>
      version === 2 ? { status: 400, errors: ["does not contain a private part"], hasErrors: true } : sign(version);
    await using found = await open();
    expect([signing(found), signed()]).toEqual([
      [1, 3],
      [1, 2, 3],
    ]);
    expect(await found.refresh()).toBe(false);
    // Those that signed are not asked again.
    expect(signed()).toEqual([1, 2, 3, 2]);
  });

  test("of a key that was imported are not opened if the server cannot say whether they sign", async () => {
    server.key["imported_key"] = true;
    server.sign = () => ({ status: 403, errors: ["permission denied"], hasErrors: true });
    await expect(open()).rejects.toMatchObject({ code: "access_denied", uri: "vault:///transit/keys/op" });
    expect(server.closes).toBe(1);
  });

  test("of a key that was not imported do not sign when they are opened", async () => {
    await using found = await open();
    expect([signing(found), signed()]).toEqual([[1, 2, 3], []]);
  });

  test.each([
    [{ type: "rsa-2048" }, "unsupported_key"],
    [{ soft_deleted: true }, "key_disabled"],
    [{ latest_version: 0, min_available_version: 1 }, "key_not_found"],
  ])("of a key with %j are refused", async (changes, code) => {
    Object.assign(server.key, changes);
    await expect(open()).rejects.toMatchObject({ code, uri: "vault:///transit/keys/op" });
    expect(server.closes).toBe(1);
  });
});

describe("a refresh", () => {
  test("keeps the signers, and adds a new version", async () => {
    Object.assign(server.key, { keys: listed(1, 2), latest_version: 2 });
    await using found = await open();
    const before = found.versions;
    expect(await found.refresh()).toBe(false);
    expect(found.versions).toBe(before);
    Object.assign(server.key, { keys: listed(1, 2, 3), latest_version: 3 });
    expect(await found.refresh()).toBe(true);
    expect(signing(found)).toEqual([1, 2, 3]);
    const signerOf = (version: object | undefined): unknown => Reflect.get(version ?? {}, "signer");
    expect(found.versions.slice(0, 2).map(signerOf)).toEqual(before.map(signerOf));
  });

  test.each([
    ["another public key", keys[1].pem],
    ["a public key of which only y differs", negated(keys[0].pem)],
  ])("refuses a version that has %s now", async (_what, pem) => {
    await using found = await open();
    server.key["keys"] = { ...listed(2, 3), "1": { public_key: pem, creation_time: madeAt(1).toISOString() } };
    await expect(found.refresh()).rejects.toMatchObject({
      code: "wrong_key",
      message: "vault:///transit/keys/op?version=1 has another public key than before: the key was replaced",
    });
  });
});

describe("a signer of a version", () => {
  test("has the notes and the status of its connection", async () => {
    server.notes = ["address https://vault.example:8200, from VAULT_ADDR"];
    server.status = "degraded";
    server.key["exportable"] = true;
    await using found = await open();
    const signer = Reflect.get(found.versions[2] ?? {}, "signer") as { health(): object; uri: string };
    expect(signer.uri).toBe("vault:///transit/keys/op?version=3");
    expect(signer.health()).toMatchObject({
      status: "degraded",
      notes: [...server.notes, expect.stringMatching(/^exportable/)],
    });
  });

  test("is closed with the others, and the connection after them", async () => {
    const found = await open();
    const signers = found.versions.map(
      (version) => Reflect.get(version, "signer") as { sign(d: Uint8Array): Promise<unknown> },
    );
    await found.close();
    for (const signer of signers) {
      await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({ code: "closed" });
    }
    await found.close();
    expect(server.closes).toBe(1);
  });

  test("outlives the signal of the opening", async () => {
    const opening = new AbortController();
    await using found = await open({ signal: opening.signal, policy: false });
    opening.abort(new Error("the opening is over"));
    const signer = Reflect.get(found.versions[0] ?? {}, "signer") as { sign(d: Uint8Array): Promise<Uint8Array> };
    expect(await signer.sign(new Uint8Array(32))).toHaveLength(64);
  });
});
