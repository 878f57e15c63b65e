import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { jwkThumbprint } from "@signpost/core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { DoctorFlags } from "../src/doctor/command.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { runDoctor } from "../src/doctor/run.ts";
import { FIXED_CHAIN } from "./support/fixed-chain.ts";
import { startIssuer, type Issuer } from "./support/issuer.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// Which keys doctor examines, what it calls them, what it compares them with, and how it ends.

const { d: _private, ...RFC_PUBLIC } = RFC_KEY;
let folder: KeyFolder;
let op: Issuer;

beforeAll(async () => {
  [folder, op] = await Promise.all([createKeyFolder(), startIssuer()]);
  await folder.write("op.pem", op.privateKeyPem);
  await folder.addKey("other.pem");
  await folder.write("chain.pem", FIXED_CHAIN);
  await Promise.all(["op.pem", "other.pem"].map((name) => chmod(join(folder.path, name), 0o600)));
});
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await op[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

interface Report {
  readonly ok: boolean;
  readonly keys: readonly { name: string; uri: string | null; findings: readonly Finding[] }[];
}

/** Writes a configuration, and examines its keys, or one key. */
async function doctor(config: object, flags: DoctorFlags = {}, uri?: string): Promise<Report & { code: number }> {
  await folder.write("doctor.json", { issuer: op.issuer, ...config });
  const context = recordingContext(folder.path);
  const given = { samples: 0, config: "doctor.json", ...flags, json: true };
  const code = await runDoctor(context, given, localUri(uri));
  return { code, ...(JSON.parse(context.printed()) as Report) };
}

/** Paths of local keys start in the folder in which the program runs. */
function localUri(uri: string | undefined): string | undefined {
  return uri?.replace("local:", `local:${folder.path}/`);
}

const local = (name: string): string => `local:${folder.path}/${name}`;
const checksOf = ({ findings }: { findings: readonly Finding[] } = { findings: [] }): readonly string[] =>
  findings.map(({ check, level }) => `${check} ${level}`);

describe("the keys of a configuration", () => {
  test("are called by their keyId, or by their place", async () => {
    const keys = [{ signer: local("op.pem") }, { keyId: "b", signer: local("other.pem") }];
    expect((await doctor({ keys })).keys.map(({ name }) => name)).toEqual(["keys[0]", "b"]);
    const dates = { announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
    const later = { announcedFrom: "2026-02-01T00:00:00Z", activeFrom: "2026-02-02T00:00:00Z" };
    const entries = [
      { keyId: "a", signer: local("other.pem"), ...dates },
      { signer: local("op.pem"), ...later },
    ];
    const schedule = { maxTokenLifetimeSeconds: 60, entries };
    expect((await doctor({ keys: schedule })).keys.map(({ name }) => name)).toEqual(["a", "keys.entries[1]"]);
  });

  test("are those that sign, and those with certificates", async () => {
    const keys = [
      { keyId: op.kid, signer: local("op.pem") },
      { keyId: "plain", publicKey: RFC_PUBLIC },
    ];
    expect((await doctor({ keys })).keys.map(({ name, uri }) => [name, uri])).toEqual([
      [op.kid, expect.stringMatching(/^local:/)],
    ]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-08-01T00:00:00Z") });
    const certificates = { chain: FIXED_CHAIN };
    const certified = [...keys.slice(0, 1), { publicKey: RFC_PUBLIC, certificates }];
    const { keys: reports } = await doctor({ keys: certified });
    expect(reports[1]).toEqual({
      name: "keys[1]",
      uri: null,
      findings: [{ check: "certificates", level: "ok", text: expect.stringMatching(/^2 to show, valid until 2027-/) }],
    });
    const named = [...keys.slice(0, 1), { keyId: "old", publicKey: RFC_PUBLIC, certificates }];
    expect((await doctor({ keys: named })).keys[1]).toMatchObject({ name: "old", findings: reports[1]?.findings });
  });

  test("are none if none signs", async () => {
    await expect(doctor({ keys: [{ publicKey: RFC_PUBLIC }] })).rejects.toMatchObject({
      exitCode: 2,
      code: "no_keys",
      message: "The configuration has no entry with a signer",
    });
  });

  test("are looked for by their thumbprint if they have no keyId", async () => {
    const { keys } = await doctor({ keys: [{ signer: local("op.pem") }] });
    const [published] = keys.flatMap(({ findings }) => findings).filter(({ check }) => check === "published");
    const { keys: set } = (await (await fetch(op.jwksUri)).json()) as { keys: Record<string, string>[] };
    expect(published).toMatchObject({
      level: "problem",
      text: `${op.jwksUri} has no usable key ${jwkThumbprint(set[0] as never)}`,
    });
  });

  test("are timed by ten signatures, unless told otherwise", async () => {
    const keys = [{ keyId: op.kid, signer: local("op.pem") }];
    const latency = async (samples: number | undefined): Promise<string | undefined> =>
      (await doctor({ keys }, { samples })).keys[0]?.findings
        .find(({ check }) => check === "latency")
        ?.text.split(":")[0];
    expect([await latency(undefined), await latency(1), await latency(0)]).toEqual([
      "10 signatures",
      expect.stringMatching(/^1 signature/),
      undefined,
    ]);
  });
});

test("a key of a schedule is expected in the set from its announcement on, and may leave it when the next one signs", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-07-10T00:00:00Z") });
  const entry = (keyId: string, announcedFrom: string, activeFrom: string): object => {
    return { keyId, signer: local("other.pem"), announcedFrom, activeFrom };
  };
  const entries = [
    entry("old", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    { ...entry("signs", "2026-07-01T00:00:00Z", "2026-07-10T00:00:00Z"), signer: "local:" },
    { ...entry("soon", "2026-07-10T00:00:00Z", "2026-07-20T00:00:00Z"), signer: "local:" },
    { ...entry("later", "2026-07-10T00:00:00.001Z", "2026-07-30T00:00:00Z"), signer: "local:" },
  ];
  const { keys } = await doctor({ keys: { maxTokenLifetimeSeconds: 60, entries } });
  const published = keys.flatMap(({ findings }) => findings).filter(({ check }) => check === "published");
  expect(published.map(({ level, text }) => `${level}: ${text}`)).toEqual([
    `note: ${op.jwksUri} no longer has old, which has stopped signing`,
    `problem: ${op.jwksUri} has no usable key signs`,
    `problem: ${op.jwksUri} has no usable key soon`,
    "note: later is announced later, so it is not compared",
  ]);
});

describe("one key", () => {
  test("is called key, and is compared with no set", async () => {
    const context = recordingContext(folder.path);
    expect(await runDoctor(context, { samples: 0, json: true }, local("op.pem"))).toBe(0);
    const { ok, keys } = JSON.parse(context.printed()) as Report;
    expect([ok, keys.length, keys[0]?.name]).toEqual([true, 1, "key"]);
    expect(checksOf(keys[0])).toEqual(["open ok", "probe ok", "key note", "permissions ok"]);
  });

  test("takes the adapters of a configuration that is named, and nothing else of it", async () => {
    const twice = [
      { keyId: "a", signer: local("other.pem") },
      { keyId: "a", publicKey: RFC_PUBLIC, certificates: { chain: FIXED_CHAIN } },
    ];
    const { code, keys } = await doctor({ keys: twice }, {}, "local:op.pem");
    expect([code, keys.length, keys[0]?.name]).toEqual([0, 1, "key"]);
    expect(checksOf(keys[0])).not.toContain("published");
    const adapters = { vault: { address: "http://127.0.0.1:9", auth: { method: "token", token: "env:NO_TOKEN" } } };
    const secret = await doctor({ keys: twice, adapters }, {}, "vault:///transit/keys/a");
    expect(JSON.stringify(secret.keys)).toContain("adapters.vault.auth.token: The variable NO_TOKEN is not set");
  });

  test("needs the configuration that is named", async () => {
    const context = recordingContext(folder.path);
    await expect(runDoctor(context, { config: "none.json" }, local("op.pem"))).rejects.toMatchObject({
      code: "config_unreadable",
    });
  });
});

describe("it ends with", () => {
  test("0 if there is nothing to do, and says so", async () => {
    await folder.write("good.json", { issuer: op.issuer, keys: [{ keyId: op.kid, signer: local("op.pem") }] });
    const context = recordingContext(folder.path);
    expect(await runDoctor(context, { config: "good.json", samples: 0 })).toBe(0);
    expect(context.printed().split("\n")[0]).toMatch(new RegExp(`^${op.kid} {2}local:`));
    expect(context.printed()).toMatch(/\n1 key: nothing to do\n$/);
  });

  test("1 after a warning alone, and 1 after a problem", async () => {
    await chmod(join(folder.path, "other.pem"), 0o644);
    const context = recordingContext(folder.path);
    expect(await runDoctor(context, { samples: 0 }, local("other.pem"))).toBe(1);
    await chmod(join(folder.path, "other.pem"), 0o600);
    expect(context.printed()).toMatch(/\n1 key: 1 (?:warning|problem)\n$/);
    const { code, ok } = await doctor({ keys: [{ keyId: op.kid, signer: local("other.pem") }] });
    expect({ code, ok }).toEqual({ code: 1, ok: false });
  });

  test("3 if a backend is away, whatever else was found", async () => {
    const adapters = {
      vault: { address: "http://127.0.0.1:9", openDeadlineMs: 200, auth: { method: "token", token: "env:TOKEN" } },
    };
    const keys = [
      { keyId: op.kid, signer: local("other.pem") },
      { keyId: "away", signer: "vault:///transit/keys/a" },
    ];
    await folder.write("away.json", { issuer: op.issuer, keys, adapters });
    const context = { ...recordingContext(folder.path), env: { TOKEN: "t" } };
    expect(await runDoctor(context, { config: "away.json", samples: 0, json: true })).toBe(3);
    const { ok, keys: reports } = JSON.parse(context.printed()) as Report;
    expect([ok, reports.map(({ uri }) => uri === null)]).toEqual([false, [false, true]]);
  });

  test("a page for people that has the keys which only have certificates", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2027-08-01T00:00:00Z") });
    const keys = [
      { keyId: op.kid, signer: local("op.pem") },
      { keyId: "old", publicKey: RFC_PUBLIC, certificates: { chain: FIXED_CHAIN } },
    ];
    await folder.write("page.json", { issuer: op.issuer, keys });
    const context = recordingContext(folder.path);
    expect(await runDoctor(context, { config: "page.json", samples: 0 })).toBe(1);
    expect(context.printed()).toMatch(/\nold\n.*certificates.*expired/);
    expect(context.printed()).toMatch(/\n2 keys: 2 problems\n$/);
  });
});
