import {
  createKeySet,
  createRotationSchedule,
  emergencyRotation,
  type RotationSchedule,
  type ScheduledEntry,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Nginx, type NginxConf, RECOMMENDED_CONF, startNginx } from "@signpost/test-backends/nginx";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "./support/ask.ts";
import { endpointOf, endpointWith, type Replicas, signToken, startReplicas } from "./support/jwks-replicas.ts";
import { createPatientRp, kidOf } from "./support/patient-rp.ts";

// A rotation lived through: three replicas whose clocks differ, nginx in front of them, relying parties behind it.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-07-01T00:00:00Z");
const SKEW_SECONDS = 60;
/** Apart by a little less than the skew, so that they switch at three moments. */
const CLOCKS = [-29_500, 0, 29_500];
const LIFETIME_SECONDS = 1800;

/** nginx's cache as its manual begins it: a relying party's `no-cache` ends there. */
const DEFAULT_CONF: NginxConf = {
  http: "proxy_cache_path any-cache keys_zone=any:1m inactive=3h;",
  server: "location = /jwks { proxy_pass http://op; proxy_cache any; proxy_cache_background_update on; }",
};

const [first, second, spare] = [await openLocalSigner(), await openLocalSigner(), await openLocalSigner()];
const ANNOUNCED = START + 2 * HOUR;
const ACTIVE = ANNOUNCED + 4 * HOUR + SKEW_SECONDS * SECOND;
const WITHDRAWN = ACTIVE + LIFETIME_SECONDS * SECOND + 2 * SKEW_SECONDS * SECOND;
const ENTRIES: readonly ScheduledEntry[] = [
  { keyId: "first", signer: first, announcedFrom: new Date(0), activeFrom: new Date(0) },
  { keyId: "second", signer: second, announcedFrom: new Date(ANNOUNCED), activeFrom: new Date(ACTIVE) },
];

interface World {
  readonly nginx: Nginx;
  readonly replicas: Replicas;
  readonly schedules: readonly RotationSchedule[];
  readonly time: () => number;
  moveTo(time: number): Promise<void>;
}

async function start(conf: NginxConf, entries = ENTRIES): Promise<World> {
  let time = START;
  const schedules = CLOCKS.map((offset) =>
    createRotationSchedule(entries, {
      maxTokenLifetimeSeconds: LIFETIME_SECONDS,
      clockSkewSeconds: SKEW_SECONDS,
      now: () => time + offset,
    }),
  );
  const replicas = await startReplicas(schedules.map(endpointOf));
  onTestFinished(() => replicas[Symbol.asyncDispose]());
  const nginx = await startNginx({ conf, upstreams: replicas.ports, faketime: new Date(time) });
  onTestFinished(() => nginx.stop());
  const moveTo = (next: number): Promise<void> => {
    time = next;
    return nginx.setClock(new Date(next));
  };
  return { nginx, replicas, schedules, time: () => time, moveTo };
}

/** Every eleven minutes of the whole rotation, and seconds around each of its changes. */
function moments(): readonly number[] {
  const regular = Array.from({ length: 43 }, (_, index) => START + index * 11 * MINUTE);
  const around = [ANNOUNCED, ACTIVE, WITHDRAWN].flatMap((change) =>
    [-31, -30, -1, 0, 1, 29, 30, 31, 300].map((seconds) => change + seconds * SECOND),
  );
  return [...regular, ...around].toSorted((a, b) => a - b);
}

describe.each([
  ["the recommended configuration", RECOMMENDED_CONF],
  ["a cache that no request passes", DEFAULT_CONF],
])("with %s", (_name, conf) => {
  test("no relying party ever meets a token whose key it does not find, though the replicas switch apart", async () => {
    const { nginx, schedules, moveTo } = await start(conf);
    const plain = Array.from({ length: 8 }, () => createPatientRp(nginx.origin, { refetch: false }));
    let outstanding: { readonly token: string; readonly until: number }[] = [];
    const refused: string[] = [];
    const verifiedWith = new Map<string, number>();
    let differing = 0;

    for (const [step, time] of moments().entries()) {
      await moveTo(time);
      const kids = schedules.map((schedule) => schedule.keySet().active.keyId);
      if (new Set(kids).size > 1) differing += 1;
      for (const [index, schedule] of schedules.entries()) {
        const signedAt = time + (CLOCKS[index] ?? 0);
        const token = await signToken(schedule, signedAt, LIFETIME_SECONDS);
        outstanding.push({ token, until: signedAt + LIFETIME_SECONDS * SECOND });
      }
      outstanding = outstanding.filter(({ until }) => until > time + SECOND);
      for (const [index, rp] of plain.entries()) {
        // Some come at every step, some seldom: their sets have every age that there can be.
        if (step % (index + 1) !== 0) continue;
        for (const { token } of index === 0 ? outstanding : [...outstanding.slice(0, 3), ...outstanding.slice(-3)]) {
          await rp.verify(token, time).then(
            (kid) => verifiedWith.set(kid, (verifiedWith.get(kid) ?? 0) + 1),
            (error: unknown) => refused.push(`${new Date(time).toISOString()} ${kidOf(token)}: ${String(error)}`),
          );
        }
      }
    }
    expect(refused).toEqual([]);
    expect([...verifiedWith.keys()].toSorted()).toEqual(["first", "second"]);
    expect(Math.min(...verifiedWith.values())).toBeGreaterThan(200);
    expect(differing).toBeGreaterThan(2);
  });

  test("the worst that caches may do is four hours, and the new key signs after that", async () => {
    const { nginx, replicas, schedules, moveTo, time } = await start(conf);
    const rp = createPatientRp(nginx.origin, { refetch: false });
    const token = (): Promise<string> => signToken(schedules[1] ?? fail(), time());

    // The shared cache stores the set of the replica that switches last, a moment before it does.
    const [slowest] = replicas.all;
    for (const replica of replicas.all) if (replica !== slowest) replica.crash();
    await moveTo(ANNOUNCED + 29 * SECOND);
    await ask(nginx.origin);
    for (const replica of replicas.all) replica.recover();
    // A moment before that copy may not be handed out any more, the relying party takes it for a new one.
    await moveTo(ANNOUNCED + 29 * SECOND + 7199 * SECOND);
    await rp.verify(await token(), time());
    expect(rp.holds()).toEqual(["first"]);
    // It uses it to the last moment, four hours after the announcement.
    await moveTo(ANNOUNCED + 29 * SECOND + (7199 + 7199) * SECOND);
    await rp.verify(await token(), time());
    expect(rp.holds()).toEqual(["first"]);
    // The fastest replica signs with the new key a skew later, at the earliest.
    await moveTo(ACTIVE - 29 * SECOND);
    const [, , fastest] = schedules;
    const fresh = await signToken(fastest ?? fail(), time() + 29_500);
    expect(kidOf(fresh)).toBe("second");
    expect(await rp.verify(fresh, time())).toBe("second");
    expect(rp.holds()).toEqual(["second", "first"]);
  });
});

describe("a key that signs without an announcement", () => {
  /** As a rotation by hand goes wrong: every replica switches at once, a minute after the caches took the old set. */
  async function unannounced(conf: NginxConf) {
    let keys = createKeySet([{ keyId: "first", signer: first }]);
    const replicas = await startReplicas(CLOCKS.map(() => endpointWith({ keys: () => keys })));
    onTestFinished(() => replicas[Symbol.asyncDispose]());
    const nginx = await startNginx({ conf, upstreams: replicas.ports, faketime: new Date(START) });
    onTestFinished(() => nginx.stop());
    const rps = [true, false].map((refetch) => createPatientRp(nginx.origin, { refetch }));
    for (const rp of rps) await rp.verify(await signToken(keys, START), START);
    keys = createKeySet([
      { keyId: "second", signer: second },
      { keyId: "first", signer: first },
    ]);
    await nginx.setClock(new Date(START + MINUTE));
    const token = await signToken(keys, START + MINUTE);
    return Promise.all(
      rps.map((rp) =>
        rp.verify(token, START + MINUTE).then(
          () => "verified",
          (error: unknown) => (error as { code?: string }).code,
        ),
      ),
    );
  }

  test("is refused by every relying party behind nginx's default cache, whether it refetches or not", async () => {
    expect(await unannounced(DEFAULT_CONF)).toEqual(["ERR_JWKS_NO_MATCHING_KEY", "ERR_JWKS_NO_MATCHING_KEY"]);
  });

  test("is found through the recommended configuration by those that refetch, and refused by the others", async () => {
    expect(await unannounced(RECOMMENDED_CONF)).toEqual(["verified", "ERR_JWKS_NO_MATCHING_KEY"]);
  });
});

describe("an emergency behind the shared cache", () => {
  test("is over for those that refetch at once, and for all by one request that passes the cache", async () => {
    const at = START + HOUR;
    let schedules: readonly RotationSchedule[] = [];
    const build = (entries: readonly ScheduledEntry[], time: () => number): readonly RotationSchedule[] =>
      CLOCKS.map((offset) =>
        createRotationSchedule(entries, { maxTokenLifetimeSeconds: LIFETIME_SECONDS, now: () => time() + offset }),
      );
    let time = START;
    schedules = build(ENTRIES, () => time);
    const replicas = await startReplicas(
      CLOCKS.map((_offset, index) =>
        endpointWith({
          keys: () => (schedules[index] ?? fail()).keySet(),
          jwksRotationActive: () => (schedules[index] ?? fail()).jwksRotationActive(),
        }),
      ),
    );
    onTestFinished(() => replicas[Symbol.asyncDispose]());
    const nginx = await startNginx({ conf: RECOMMENDED_CONF, upstreams: replicas.ports, faketime: new Date(time) });
    onTestFinished(() => nginx.stop());
    const rp = createPatientRp(nginx.origin, { refetch: true });
    // Longer than the schedule lets the OP sign: a thief of the key is not bound by it.
    const stolen = await signToken((schedules[0] ?? fail()).keySet(), START, 7200);
    expect(await rp.verify(stolen, START)).toBe("first");

    time = at;
    await nginx.setClock(new Date(at));
    const { entries } = emergencyRotation(ENTRIES, {
      revokedKeyId: "first",
      at: new Date(at),
      replacement: { keyId: "spare", signer: spare },
    });
    // Rolled out one replica after the other: meanwhile the cache may take either set.
    const before = schedules;
    schedules = build(entries, () => time);
    const after = schedules;
    schedules = [after[0] ?? fail(), ...before.slice(1)];
    expect(schedules.map((schedule) => schedule.keySet().active.keyId)).toEqual(["spare", "first", "first"]);
    schedules = after;

    // An RP with the old set trusts the stolen key for as long as the cache allows. `breaks` reports it.
    expect(await rp.verify(stolen, at)).toBe("first");
    // The operator's one request makes the shared cache take the new set.
    await ask(nginx.origin, { headers: { "Cache-Control": "no-cache" } });
    const { headers, body } = await ask(nginx.origin);
    expect(headers["cache-control"]).toBe("public, max-age=300, must-revalidate");
    expect(kidsOf(body)).toEqual(["spare"]);
    // A token of the new key brings the relying party to it, and the stolen one is then refused.
    expect(await rp.verify(await signToken(after[1] ?? fail(), at), at)).toBe("spare");
    await expect(rp.verify(stolen, at)).rejects.toThrow(expect.objectContaining({ code: "ERR_JWKS_NO_MATCHING_KEY" }));
  });
});

function kidsOf(body: Buffer): string[] {
  return (JSON.parse(body.toString()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

function fail(): never {
  throw new Error("there are three of them");
}
