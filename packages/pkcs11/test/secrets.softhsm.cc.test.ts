import { readFileSync } from "node:fs";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import { forgetRefusedPins, openPkcs11Signer, pkcs11, pkcs11Certificates, type Pkcs11Pin } from "@signpost/pkcs11";
import { chosen } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { type Pkcs11Shim, type ShimFunction, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { childrenOf } from "./support/processes.ts";

// Every failure path with marked PINs: nothing that a program can log contains a part of one, and no child is started with one.

const DIGEST = new Uint8Array(32).fill(7);
const SHORT = { attemptTimeoutMs: 300, deadlineMs: 600, maxAttempts: 1 } as const;

const pin = markedText("the PIN");
const wrongPin = markedText("a wrong PIN");
const word = markedWord("a PIN of letters and digits");
const wrong = misplacedSecrets("a misplaced secret");
const watch = watchLeaks([pin, wrongPin, word, ...wrong.secrets]);

let hsm: SoftHsm;
let shim: Pkcs11Shim;
let folder: string;

beforeAll(async () => {
  hsm = await startSoftHsm({ pin: pin.text });
  await hsm.generateKey({ label: "k1", id: "01" });
  shim = await startShim(hsm.module);
  folder = await mkdtemp(join(tmpdir(), "signpost-pkcs11-secrets-"));
});
afterEach(async () => {
  shim.clear();
  await forgetRefusedPins();
  expect(watch.leaks()).toEqual([]);
});
afterAll(async () => {
  watch[Symbol.dispose]();
  await shim.stop();
  await hsm.stop();
  await rm(folder, { recursive: true });
});

async function drive(what: string, open: () => Promise<Signer>, during: () => void = () => undefined): Promise<void> {
  let signer: Signer | undefined;
  await watch.sawCall(async () => (signer = await open()), `opening with ${what}`);
  if (signer === undefined) return;
  const opened = signer;
  during();
  await watch.sawCall(() => opened.sign(DIGEST, { signal: AbortSignal.timeout(700) }), `signing with ${what}`);
  if ("health" in opened) watch.saw((opened as { health(): unknown }).health(), `health with ${what}`);
  searchProcesses(what);
  await watch.sawCall(() => opened.close(), `closing with ${what}`);
}

/** What other users of this machine, and a diagnostic report, show of this process and of each child that it has started. */
function searchProcesses(what: string): void {
  for (const pid of [process.pid, ...childrenOf()]) {
    for (const name of ["cmdline", "environ", "comm", "status"]) {
      watch.sawText(readFileSync(`/proc/${pid}/${name}`, "latin1"), `/proc/${pid}/${name} with ${what}`);
    }
  }
}

const GIVEN: Readonly<Record<string, Pkcs11Pin>> = {
  "a text": pin.text,
  "a function": () => pin.text,
  bytes: Buffer.from(pin.text),
};

const base = (given: unknown, options: object = {}): never =>
  ({
    module: shim.module,
    token: hsm.tokenLabel,
    object: "k1",
    pin: given,
    sessions: 1,
    policy: SHORT,
    openDeadlineMs: 1500,
    ...options,
  }) as never;

/** Answers of a module, among them codes that no version of the standard has. */
const CODES = [0x1, 0x5, 0x6, 0x20, 0x30, 0x32, 0xa0, 0xa3, 0xa4, 0xb3, 0xe0, 0x101, 0x190, 0x80001234, 0x1b] as const;
const FUNCTIONS: readonly ShimFunction[] = [
  "C_Initialize",
  "C_GetSlotList",
  "C_GetTokenInfo",
  "C_OpenSession",
  "C_Login",
  "C_FindObjectsInit",
  "C_GetAttributeValue",
  "C_SignInit",
  "C_Sign",
];

describe.each(["thread", "process"] as const)("isolation %s", (isolation) => {
  test.each(Object.entries(GIVEN))(
    "a PIN that is given as %s is not in /proc, and not in a diagnostic report",
    async (what, given) => {
      await drive(
        what,
        () => openPkcs11Signer(base(given, { isolation, openDeadlineMs: 10_000 })),
        () => {
          expect(childrenOf().length).toBeGreaterThanOrEqual(isolation === "process" ? 1 : 0);
          watch.saw(process.report.getReport(), "a diagnostic report");
        },
      );
    },
  );

  test.each(FUNCTIONS)("%s that fails", async (name) => {
    const codes = isolation === "process" ? CODES.slice(5, 8) : chosen(CODES, 6);
    for (const code of codes) {
      const fail = (): void => shim.fail(name, code);
      fail();
      await drive(`${name} ${code}`, () => openPkcs11Signer(base(pin.text, { isolation, openDeadlineMs: 600 })));
      shim.clear();
      await forgetRefusedPins();
      if (!["C_SignInit", "C_Sign", "C_Login"].includes(name)) continue;
      await drive(`${name} ${code}`, () => openPkcs11Signer(base(() => pin.text, { isolation })), fail);
      shim.clear();
      await forgetRefusedPins();
    }
  });

  test.each(["flip", "zero-r", "short", "other-digest", "empty"] as const)(
    "a signature that is changed: %s",
    async (how) => {
      await drive(
        how,
        () => openPkcs11Signer(base(pin.text, { isolation })),
        () => shim.tamper(how),
      );
    },
  );

  test.each([
    ["wrong", wrongPin.text],
    ["in quotes", `"${pin.text}"`],
    ["with a line end", `${pin.text}\n`],
    ["with a byte order mark", `\uFEFF${pin.text}`],
    ["with a NUL", `${pin.text}\0`],
    ["with a replacement character", `${pin.text}\uFFFD`],
    ["with a lone surrogate", `${pin.text}\uD800`],
    ["too long", pin.text.repeat(8)],
  ])("a PIN that is %s", async (what, given) => {
    for (const each of [given, () => given, Buffer.from(given), () => Promise.resolve(given)]) {
      await drive(what, () => openPkcs11Signer(base(each, { isolation })));
      // It is not tried again.
      await drive(`${what}, again`, () => openPkcs11Signer(base(each, { isolation })));
      await forgetRefusedPins();
    }
  });

  test("a module that crashes, or that hangs while it logs in", async () => {
    shim.hang("C_Login", 1);
    await drive("a hanging login", () => openPkcs11Signer(base(pin.text, { isolation, openDeadlineMs: 500 })));
    shim.release();
    if (isolation === "thread") return;
    await drive(
      "a crash",
      () => openPkcs11Signer(base(pin.text, { isolation })),
      () => shim.set("crash", true),
    );
  });
});

describe("a source of the PIN", () => {
  const failures: readonly (readonly [what: string, pin: unknown])[] = wrong.values.flatMap(([what, value]) => [
    [`is ${what}`, value],
    [`is a function that gives ${what}`, () => value],
    [`is a function that throws ${what}`, () => Promise.reject(value)],
    [
      `is a function whose error has ${what}`,
      () => Promise.reject(Object.assign(new Error("no"), { config: { headers: value }, response: value })),
    ],
  ]);
  test.each(chosen(failures, 24))("that %s", async (what, given) => {
    await drive(what, () => openPkcs11Signer(base(given)));
    await forgetRefusedPins();
  });

  test("a number, which a person may write for a PIN", async () => {
    const digits = 4_817_263_950_124_837;
    for (const given of [digits, () => digits, BigInt(digits)]) {
      const error = await watch.sawCall(() => openPkcs11Signer(base(given)), "a number");
      expect(String(error)).not.toContain("48172639");
    }
  });

  test("a file, or what is written in its place", async () => {
    const content = `${wrongPin.text}\n`;
    await writeFile(join(folder, "pin"), content);
    await writeFile(join(folder, "binary"), Buffer.concat([Buffer.from(pin.text), Buffer.of(0xff, 0xfe)]));
    await mkdir(join(folder, "folder"));
    const uri = `pkcs11:token=${hsm.tokenLabel};object=k1?module-path=${shim.module}&pin-source=`;
    const value = encodeURIComponent(word.text);
    for (const source of [
      `file:${folder}/pin`,
      `file:${folder}/binary`,
      `file:${folder}/folder`,
      `file:${folder}/none`,
      `file:${value}`,
      value,
      `|echo ${value}`.replaceAll(" ", "%20"),
      `file:///etc/${value}?a=b`,
      `https://user:${value}@host/`,
    ]) {
      await drive(source, () => openSigner(uri + source, [pkcs11()], { policy: SHORT }));
      await drive(source, () =>
        openSigner(uri + source, [pkcs11({ pinSource: () => Promise.reject(new Error(word.text)) })], {
          policy: SHORT,
        }),
      );
      await forgetRefusedPins();
    }
  });

  test("the URI itself", async () => {
    const uri = `pkcs11:token=${hsm.tokenLabel};object=k1?module-path=${shim.module}&pin-value=`;
    for (const value of [
      encodeURIComponent(pin.text),
      encodeURIComponent(wrongPin.text),
      `${word.text}%FF`,
      `${word.text}%`,
      "",
    ]) {
      for (const allowPinValue of [true, false]) {
        await drive("pin-value", () => openSigner(uri + value, [pkcs11({ allowPinValue })], { policy: SHORT }));
        await forgetRefusedPins();
      }
    }
  });
});

test("a secret in the place of any option or key URI", async () => {
  const names = ["serial", "slotId", "id", "publicKey", "libraryParameters", "isolation", "signal"];
  const right: object = base(pin.text, { openDeadlineMs: 300 });
  for (const [what, options] of misplacedIn(right, names, wrong)) {
    await drive(what, () => openPkcs11Signer(options as never));
    await watch.sawCall(() => pkcs11(options), `the adapter with ${what}`);
    const { pin: _pin, sessions: _sessions, policy: _policy, ...others } = options as Record<string, unknown>;
    await watch.sawCall(() => pkcs11Certificates(others), `certificates with ${what}`);
    await forgetRefusedPins();
  }
  for (const [what, value] of wrong.values) {
    await watch.sawCall(() => pkcs11({ allowedModules: value, modules: value, pinSource: value } as never), what);
    await watch.sawCall(() => openSigner(value as string, [pkcs11()]), `a URI that is ${what}`);
    if (typeof value === "string")
      await watch.sawCall(() => openSigner(`pkcs11:${value}`, [pkcs11()]), `a URI with ${what}`);
  }
});

test("the codes of all failures were seen", () => {
  expect([...watch.codes]).toEqual(
    expect.arrayContaining([
      "access_denied",
      "integrity",
      "invalid_configuration",
      "key_not_found",
      "pin_incorrect",
      "pin_locked",
      "timeout",
      "unavailable",
    ]),
  );
  expect(watch.count).toBeGreaterThan(5000);
});
