import { execFile } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { startSoftHsm, type SoftHsm, type SoftHsmToken } from "@signpost/test-backends/softhsm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { ended, runCli, startCli, type CliOptions, type CliResult } from "./support/run-cli.ts";

// Tokens, modules and PINs that others have.

/** As AWS CloudHSM numbers its slots: as numbers of JavaScript the first two are one, and its lower half is 1. */
const FIRST = 2305843009213693953n;
const CKF_LOGIN_REQUIRED = 4;

let hsm: SoftHsm;
let other: SoftHsmToken;
let folder: KeyFolder;
let shim: Pkcs11Shim;

beforeAll(async () => {
  [hsm, folder] = await Promise.all([startSoftHsm({ label: "hsm-a" }), createKeyFolder()]);
  other = await hsm.addToken({ label: "hsm-b" });
  await hsm.generateKey({ label: "k1", id: "01" });
  await other.generateKey({ label: "k1", id: "01" });
});
afterAll(async () => {
  await hsm.stop();
  await folder[Symbol.asyncDispose]();
});
beforeEach(async () => {
  shim = await startShim(hsm.module);
});
afterEach(() => shim.stop());

function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(args, { cwd: folder.path, ...options, env: { ...hsm.env, OP_PIN: hsm.pin, ...options.env } });
}
const uriOf = (path: string, source = "env:OP_PIN"): string =>
  `pkcs11:${path}?pin-source=${source}&module-path=${shim.module}`;
const labels = (token: SoftHsmToken): Promise<string> =>
  token.pkcs11Tool("--list-objects", "--type", "privkey").then((text) => text.replaceAll(/\s+/g, " "));
const expectRefused = async (uri: string, code: number, message: string, options: CliOptions = {}): Promise<void> => {
  const before = await labels(hsm);
  const result = await cli(["keygen", uri], options);
  expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
  expect(result.stderr).not.toContain("made");
  expect(await labels(hsm)).toBe(before);
};

describe("slots with 64 bits", () => {
  beforeEach(() => shim.slots({ first: FIRST }));

  test("are told apart, and no PIN goes to another one", async () => {
    await expectRefused(uriOf("slot-id=1;object=new"), 3, 'no token matches slotId "1"; the module has ');
    const absent = "2305843009213693952";
    await expectRefused(
      uriOf(`slot-id=${absent};object=new`),
      3,
      `no token matches slotId "${absent}"; the module has `,
    );
    expect(shim.logins().every((count) => count === 0)).toBe(true);
  });

  test("have keys made in them, and examined", async () => {
    const env = { OP_PIN: other.pin };
    const { code, stdout } = await cli(["keygen", uriOf(`slot-id=${FIRST + 1n};object=big`)], { env });
    expect(code).toBe(0);
    expect(await labels(other)).toContain("label: big");
    expect(await cli(["doctor", JSON.parse(stdout).signer, "--samples", "0"], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("sensitive and not extractable"),
    });
    expect(shim.logins()[0]).toBe(0);
  });
});

test("a PIN that no login has proven is not sent by doctor or bench, however many keys the token shows without one", async () => {
  const names = ["open-1", "open-2"];
  for (const [index, label] of names.entries()) {
    const token = { module: hsm.module, token: hsm.tokenLabel, pin: hsm.pin };
    generateP256Key({ ...token, label, id: Buffer.of(0x71 + index), hidden: false });
  }
  shim.token({ withoutFlags: CKF_LOGIN_REQUIRED });
  const env = { OP_PIN: "not-the-pin" };
  for (const label of names) {
    const { stdout } = await cli(["doctor", uriOf(`token=hsm-a;object=${label}`), "--samples", "0"], { env });
    expect(stdout).toContain("sensitive and not extractable");
  }
  const bench = ["bench", uriOf("token=hsm-a;object=open-1"), "--raw", "--calls", "3", "--json"];
  expect(await cli(bench, { env })).toMatchObject({ code: 0 });
  expect(shim.calls("C_Login")).toBe(0);
});

test("a module that the options do not allow is never loaded", async () => {
  const adapters = { pkcs11: { allowedModules: [hsm.module] } };
  await folder.write("allowed.json", { issuer: "https://op.example", keys: [], adapters });
  const uri = uriOf("token=hsm-a;object=k1");
  const allowed = uri.replace(shim.module, hsm.module);
  expect(await cli(["doctor", uri, "--config", "allowed.json"])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("allowedModules: expected a module on the list"),
  });
  expect(await cli(["keygen", uri.replace("k1", "new"), "--config", "allowed.json"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("allowedModules: expected a module on the list"),
  });
  expect(shim.calls("C_Initialize")).toBe(0);
  const examined = await cli(["doctor", allowed, "--config", "allowed.json", "--samples", "0"]);
  expect(examined.stdout).toContain("sensitive and not extractable");
});

test("a token that hides its keys needs a login, whatever its flags say", async () => {
  shim.token({ withoutFlags: 0x4 });
  const { stdout } = await cli(["doctor", uriOf("token=hsm-a;object=k1"), "--samples", "0"]);
  expect(stdout).toContain("no wrong PIN since the last login");
  expect(stdout).not.toContain("the token needs no login");
});

test.each([
  ["C_Sign", ["kid"]],
  ["C_FindObjectsInit", ["cert", "inspect"]],
] as const)("a command ends by itself while %s of its module never returns", async (name, command) => {
  shim.hang(name, 1000);
  expect(await cli([...command, uriOf("token=hsm-a;object=k1")])).toMatchObject({ code: 3, stdout: "" });
});

test("a token is found next to one that cannot be read", async () => {
  shim.slots({ first: FIRST, swapped: true });
  // In the first list of slots.
  shim.fail("C_GetTokenInfo", 0x30, { every: 2, times: 1 });
  const env = { OP_PIN: other.pin };
  const { stdout } = await cli(["doctor", uriOf("token=hsm-b;object=k1"), "--samples", "0"], { env });
  expect(stdout).toContain("no wrong PIN since the last login");
});

test("the code of a vendor is shown with its number", async () => {
  shim.fail("C_GetTokenInfo", 0x80000123);
  const { stdout } = await cli(["doctor", uriOf("token=hsm-a;object=k1"), "--samples", "0"]);
  expect(stdout).toMatch(/slot \d+ cannot be read \(CKR 0x80000123\)/);
});

test("a label that is not UTF-8 is made as it was given, and the entry opens", async () => {
  const { code, stdout } = await cli(["keygen", uriOf("token=hsm-a;object=cl%E9")]);
  expect(code).toBe(0);
  const { signer } = JSON.parse(stdout);
  expect(signer).toContain("object=cl%E9;id=");
  expect((await cli(["doctor", signer, "--samples", "0"])).stdout).toContain("sensitive and not extractable");
});

describe("bench --raw", () => {
  // Logins are counted by these slots.
  beforeEach(() => shim.slots({ first: FIRST }));
  const raw = ["--raw", "--calls", "3", "--json"];

  test("sends the PIN to no other token, however the URI selects one", async () => {
    for (const [token, away] of [
      [hsm, "hsm-b"],
      [other, "hsm-a"],
    ] as const) {
      const label = away === "hsm-b" ? "hsm-a" : "hsm-b";
      const env = { OP_PIN: token.pin };
      const kid = await cli(["kid", uriOf(`token=${label};object=k1`), "--json"], { env });
      const serial = /serial=([0-9a-f]{16})/.exec(JSON.parse(kid.stdout).uri)?.[1] ?? "";
      // As SoftHSM names it.
      const slot = (Number.parseInt(serial.slice(8), 16) & 0x7fffffff).toString(16);
      const before = shim.logins();
      const uri = uriOf(`slot-description=SoftHSM%20slot%20ID%200x${slot};object=k1`);
      expect(await cli(["bench", uri, ...raw, "--concurrency=2"], { env })).toMatchObject({ code: 0, stderr: "" });
      const { stdout } = await cli(["doctor", uri, "--samples", "0"], { env });
      expect(stdout).toContain("sensitive and not extractable");
      const place = ["hsm-a", "hsm-b"].indexOf(away);
      expect(shim.logins()[place]).toBe(before[place]);
      expect(shim.logins()[1 - place]).toBeGreaterThan(before[1 - place] ?? 0);
    }
  });

  test("tries a wrong PIN once", async () => {
    const result = await cli(["bench", uriOf("token=hsm-a;object=k1"), ...raw], { env: { OP_PIN: "00000000" } });
    expect(result).toMatchObject({ code: 3, stdout: expect.stringContaining("pin_incorrect") });
    expect(shim.logins().reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  test("says what the module refuses, and shows no stack", async () => {
    shim.token({ maxSessions: 4 });
    const { code, stdout } = await cli(["bench", uriOf("token=hsm-a;object=k1"), ...raw, "--concurrency=9"]);
    expect({ code, error: JSON.parse(stdout).error }).toEqual({
      code: 3,
      error: { code: "module_failed", message: "--raw: the PKCS#11 module refused: CKR_SESSION_COUNT" },
    });
  });

  test("Ctrl-C does not finalize the module during a call", async () => {
    shim.delay("C_Sign", 300);
    const uri = uriOf("token=hsm-a;object=k1");
    const env = { ...hsm.env, OP_PIN: hsm.pin };
    const child = startCli(["bench", uri, "--raw", "--calls", "1", "--concurrency", "1"], { cwd: folder.path, env });
    const out = text(child.stdout);
    // Two probes, the two calls that are not measured, and the calls of both sides in turn.
    await expect.poll(() => shim.calls("C_Sign"), { interval: 5, timeout: 20_000 }).toBeGreaterThanOrEqual(6);
    child.kill("SIGINT");
    await ended(child);
    expect({ code: child.exitCode, out: await out }).toEqual({ code: 130, out: expect.stringContaining("Stopped") });
    expect(shim.calls("C_Finalize")).toBe(1);
    expect(shim.counter("finalizeInFlight")).toBe(0);
  });
});

describe("before a key is made, the adapter refuses", () => {
  test("a module without its configuration, with a hint", async () => {
    const env = { SOFTHSM2_CONF: "/nowhere/softhsm2.conf" };
    const uri = uriOf("token=hsm-a;object=new").replace(shim.module, hsm.module);
    const { code, stderr } = await cli(["keygen", uri], { env });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("SOFTHSM2_CONF") });
  });

  test("a wrong PIN, which is tried once, and names the token and the source", async () => {
    await hsm.addToken({ label: "locking" });
    shim.slots({ first: FIRST });
    await expectRefused(uriOf("token=locking;object=new"), 3, 'token "locking"', { env: { OP_PIN: "00000000" } });
    expect(shim.logins().reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  test("a FIFO, and the command ends", async () => {
    const fifo = join(folder.path, "fifo");
    await promisify(execFile)("mkfifo", [fifo]);
    await expectRefused(uriOf("token=hsm-a;object=new", `file:${fifo}`), 2, "expected a regular file");
  });
});

describe("the PIN of a key is read as the adapter reads it", () => {
  const expectExamined = async (args: readonly string[]): Promise<void> => {
    const { code, stdout } = await cli(["doctor", ...args, "--samples", "0"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("sensitive and not extractable") });
  };

  test("without a byte order mark", async () => {
    await folder.write("bom", `\uFEFF${hsm.pin}\r\n`);
    await expectExamined([uriOf("token=hsm-a;object=k1", `file:${folder.path}/bom`)]);
  });

  test("as bytes", async () => {
    const pin = `() => new TextEncoder().encode("${hsm.pin}")`;
    const adapters = `{ pkcs11: { module: ${JSON.stringify(hsm.module)}, pin: ${pin} } }`;
    await folder.write(
      "bytes.mjs",
      `export default { issuer: "https://op.example", keys: [], adapters: ${adapters} };`,
    );
    await expectExamined(["pkcs11:token=hsm-a;object=k1", "--config", "bytes.mjs"]);
  });
});
