import type { KeySetSource } from "@signpost/core";
import { createJwksEndpoint, createKeySet, createRotationSchedule, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { Nginx } from "@signpost/test-backends/nginx";
import { RECOMMENDED_CONF, startNginx } from "@signpost/test-backends/nginx";
import { createRemoteKeySet } from "@signpost/verify";
import type { RemoteKeyFunction } from "@signpost/verify";
import { decodeProtectedHeader, jwtVerify } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { startLoopbackServer } from "./support/loopback-server.ts";

// Three replicas, nginx as the shared cache in front of them, our remote set behind it. Every clock is the test's.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-07-01T00:00:00Z");
const ISSUER = "https://op.example";
const TOKEN_LIFETIME_SECONDS = 3600;

interface Replica {
  readonly port: number;
  readonly keys: KeySetSource;
}

async function startReplica(keys: KeySetSource): Promise<Replica> {
  const endpoint = createJwksEndpoint({ issuer: ISSUER, keys });
  const server = await startLoopbackServer(endpoint.listener);
  onTestFinished(() => server.close());
  return { port: server.port, keys };
}

async function startCache(replicas: readonly Replica[]): Promise<Nginx> {
  const nginx = await startNginx({
    conf: RECOMMENDED_CONF,
    upstreams: replicas.map(({ port }) => port),
    faketime: new Date(START),
  });
  onTestFinished(() => nginx.stop());
  return nginx;
}

describe("behind a shared cache, with replicas in the middle of a rotation", () => {
  it("no token is lost, by a set that is always used, by one that is rarely used, and by a new one", async () => {
    let now = START;
    const [old, next] = await Promise.all([openLocalSigner(), openLocalSigner()]);
    const announced = START + 2 * HOUR;
    const active = announced + 4 * HOUR + 5 * MINUTE;
    const entries = [
      {
        keyId: "old",
        signer: old,
        announcedFrom: new Date(START - 24 * HOUR),
        activeFrom: new Date(START - 20 * HOUR),
      },
      { keyId: "next", signer: next, announcedFrom: new Date(announced), activeFrom: new Date(active) },
    ];
    // Clocks apart by less than the skew that the schedule allows for.
    const replicas = await Promise.all(
      [0, 20_000, -20_000].map((skew) => {
        const schedule = createRotationSchedule(entries, {
          maxTokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS,
          now: () => now + skew,
        });
        return startReplica(schedule);
      }),
    );
    const nginx = await startCache(replicas);
    const open = (): RemoteKeyFunction =>
      createRemoteKeySet(`${nginx.origin}/jwks`, { allowInsecureLoopback: true, clock: () => now, now: () => now });
    const [always, rarely] = [open(), open()];
    const verify = async (token: string, keySet: RemoteKeyFunction): Promise<unknown> =>
      jwtVerify(token, keySet, { issuer: ISSUER, audience: "rp", currentDate: new Date(now) });

    const lost: string[] = [];
    const signedBy = new Set<unknown>();
    let verified = 0;
    let outstanding: { readonly token: string; readonly until: number }[] = [];
    const moments = momentsAround([announced, active, active + TOKEN_LIFETIME_SECONDS * 1000], START + 10 * HOUR);
    for (const [step, moment] of moments.entries()) {
      now = moment;
      await nginx.setClock(new Date(now));
      for (const { keys } of replicas) {
        const iat = Math.floor(now / 1000);
        const exp = iat + TOKEN_LIFETIME_SECONDS;
        const token = await signJwt(keys, { iss: ISSUER, aud: "rp", sub: "248289", iat, exp });
        signedBy.add(decodeProtectedHeader(token).kid);
        outstanding.push({ token, until: exp * 1000 });
      }
      outstanding = outstanding.filter(({ until }) => until > now);
      const used = step % 6 === 0 ? [always, rarely, open()] : [always];
      for (const keySet of used) {
        for (const { token } of outstanding) {
          await verify(token, keySet).then(
            () => (verified += 1),
            (error: unknown) =>
              lost.push(`${new Date(now).toISOString()} ${decodeProtectedHeader(token).kid} ${String(error)}`),
          );
        }
      }
    }
    expect(lost).toEqual([]);
    expect(signedBy).toEqual(new Set(["old", "next"]));
    expect(verified).toBeGreaterThan(1000);
    // The announcement was enough: no RP had to bypass the caches.
    expect([always.stats().forced, rarely.stats().forced]).toEqual([0, 0]);
    // And the RPs did cache: one fetch or revalidation at a time, not one for each token.
    expect(always.stats().requests).toBeLessThan(moments.length + 1);

    // Long after, the old key is untrusted everywhere.
    now = active + 8 * HOUR;
    await nginx.setClock(new Date(now));
    const late = createKeySet([{ keyId: "old", signer: old }]);
    const forged = await signJwt(late, {
      iss: ISSUER,
      aud: "rp",
      iat: Math.floor(now / 1000),
      exp: Math.floor(now / 1000) + 60,
    });
    await Promise.allSettled([always.preload(), rarely.preload()]);
    for (const keySet of [always, rarely, open()]) {
      await expect(verify(forged, keySet)).rejects.toMatchObject({ code: "unknown_kid" });
    }
  });

  it("a key that signs unannounced, as in an emergency, is reached through the cache by one forced refetch", async () => {
    let now = START;
    const [old, next] = await Promise.all([openLocalSigner(), openLocalSigner()]);
    let keys = createKeySet([{ keyId: "old", signer: old }]);
    const replicas = await Promise.all([1, 2, 3].map(() => startReplica(() => keys)));
    const nginx = await startCache(replicas);
    const keySet = createRemoteKeySet(`${nginx.origin}/jwks`, {
      allowInsecureLoopback: true,
      clock: () => now,
      now: () => now,
    });
    const verify = async (token: string): Promise<unknown> => jwtVerify(token, keySet, { issuer: ISSUER });
    const sign = (): Promise<string> => signJwt(() => keys, { iss: ISSUER, exp: Math.floor(Date.now() / 1000) + 60 });
    const revoked = await sign();
    await verify(revoked);

    keys = createKeySet([{ keyId: "next", signer: next }]);
    now += 1000;
    await expect(verify(await sign())).resolves.toBeDefined();
    expect(keySet.stats()).toMatchObject({ requests: 2, forced: 1 });
    await expect(verify(revoked)).rejects.toMatchObject({ code: "unknown_kid" });
  });
});

/** Every ten minutes, and more closely around what happens. */
function momentsAround(changes: readonly number[], end: number): readonly number[] {
  const regular = Array.from(
    { length: Math.floor((end - START) / (10 * MINUTE)) },
    (_, index) => START + index * 10 * MINUTE,
  );
  const close = changes.flatMap((change) => [-60, -25, -10, 0, 10, 25, 60].map((seconds) => change + seconds * 1000));
  return [...regular, ...close].toSorted((a, b) => a - b);
}
