import { readFileSync } from "node:fs";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import {
  openPkcs11Signer,
  pkcs11,
  type Pkcs11AdapterOptions,
  pkcs11Certificates,
  type Pkcs11Pin,
} from "@signpost/pkcs11";
import { chosen, isLong } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import type { ShimFunction } from "@signpost/test-backends/pkcs11-shim";
import { childrenOf, isRunning } from "./support/processes.ts";
import { type Stage, useStages } from "./support/stages.ts";

// Every failure path with marked PINs: nothing that a program can log contains a part of one, and no child is started with one.

const DIGEST = new Uint8Array(32).fill(7);
const SHORT = { attemptTimeoutMs: 300, deadlineMs: 600, maxAttempts: 1 } as const;
/** Where no limit is reached, even on a busy machine. */
const STEADY = { policy: { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 }, openDeadlineMs: 30_000 };

const pin = markedText("the PIN");
const wrongPin = markedText("a wrong PIN");
const word = markedWord("a PIN of letters and digits");
const wrong = misplacedSecrets("a misplaced secret");
const watch = watchLeaks([pin, wrongPin, word, ...wrong.secrets]);

/** The whole lists mostly wait. */
const stages = useStages(isLong ? 8 : 1, pin.text);
/** A test of whole lists waits for minutes in all. */
const PATIENT = { timeout: isLong ? 300_000 : 60_000 } as const;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signpost-pkcs11-secrets-"));
});
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(async () => {
  watch[Symbol.dispose]();
  await rm(folder, { recursive: true });
});

async function drive(
  what: string,
  open: () => Promise<Signer>,
  during: () => void = () => undefined,
  patienceMs: number = 700,
): Promise<void> {
  let signer: Signer | undefined;
  await watch.sawCall(async () => (signer = await open()), `opening with ${what}`);
  if (signer === undefined) return;
  const opened = signer;
  during();
  await watch.sawCall(() => opened.sign(DIGEST, { signal: AbortSignal.timeout(patienceMs) }), `signing with ${what}`);
  if ("health" in opened) watch.saw((opened as { health(): unknown }).health(), `health with ${what}`);
  searchProcesses(what);
  await watch.sawCall(() => opened.close(), `closing with ${what}`);
}

/** What other users of this machine, and a diagnostic report, show of this process and of each child that it has started. */
function searchProcesses(what: string): void {
  for (const pid of [process.pid, ...childrenOf()]) {
    for (const name of ["cmdline", "environ", "comm", "status"]) {
      watch.sawText(shownOf(pid, name), `/proc/${pid}/${name} with ${what}`);
    }
  }
}

/** Nothing of a child that has ended meanwhile. */
function shownOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch (error) {
    if (isRunning(pid)) throw error;
    return "";
  }
}

const GIVEN: Readonly<Record<string, Pkcs11Pin>> = {
  "a text": pin.text,
  "a function": () => pin.text,
  bytes: Buffer.from(pin.text),
};

const base = ({ shim, token }: Stage, given: unknown, options: object = {}): never =>
  ({
    module: shim.module,
    token,
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

/** What a signer may call after it has opened. */
const AFTER_OPENING: readonly ShimFunction[] = ["C_SignInit", "C_Sign", "C_Login"];

describe.each(["thread", "process"] as const)("isolation %s", PATIENT, (isolation) => {
  test.each(Object.entries(GIVEN))(
    "a PIN that is given as %s is not in /proc, and not in a diagnostic report",
    async (what, given) => {
      await stages.each([given], (stage) =>
        drive(
          what,
          () => openPkcs11Signer(base(stage, given, { isolation, openDeadlineMs: 10_000 })),
          () => {
            expect(childrenOf().length).toBeGreaterThanOrEqual(isolation === "process" ? 1 : 0);
            watch.saw(process.report.getReport(), "a diagnostic report");
          },
        ),
      );
    },
  );

  test.each(FUNCTIONS)("%s that fails", async (name) => {
    const codes = isolation === "process" ? CODES.slice(5, 8) : chosen(CODES, 6);
    await stages.each(codes, async (stage, code) => {
      stage.shim.fail(name, code);
      const options = { isolation, openDeadlineMs: 600 };
      await drive(`${name} ${code}`, () => openPkcs11Signer(base(stage, pin.text, options)));
    });
    if (!AFTER_OPENING.includes(name)) return;
    await stages.each(codes, (stage, code) =>
      drive(
        `${name} ${code}`,
        () => openPkcs11Signer(base(stage, () => pin.text, { isolation })),
        () => stage.shim.fail(name, code),
      ),
    );
  });

  test("a signature that is changed", async () => {
    await stages.each(["flip", "zero-r", "short", "other-digest", "empty"] as const, (stage, how) =>
      drive(
        how,
        () => openPkcs11Signer(base(stage, pin.text, { isolation, ...STEADY })),
        () => stage.shim.tamper(how),
        30_000,
      ),
    );
  });

  test("what does not pass: a PIN that is refused or locked, a key that is missing, a login that is not allowed", async () => {
    const failures: readonly (readonly [what: string, code: number, object: string])[] = [
      ["a refused PIN", 0xa0, "k1"],
      ["a locked PIN", 0xa4, "k1"],
      ["a login that is not allowed", 0x103, "k1"],
      ["a missing key", 0, "none"],
    ];
    await stages.each(failures, async ({ shim, token }, [what, code, object]) => {
      if (code !== 0) shim.fail("C_Login", code);
      const options = { isolation, object, ...STEADY };
      await drive(what, () => openPkcs11Signer(base({ shim, token }, pin.text, options)));
    });
  });

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
    const forms = [given, () => given, Buffer.from(given), () => Promise.resolve(given)];
    await stages.each(forms, async (stage, each) => {
      await drive(what, () => openPkcs11Signer(base(stage, each, { isolation })));
      // It is not tried again.
      await drive(`${what}, again`, () => openPkcs11Signer(base(stage, each, { isolation })));
    });
  });

  test("a module that crashes, or that hangs while it logs in", async () => {
    await stages.each([isolation], async (stage) => {
      const { shim } = stage;
      shim.hang("C_Login", 1);
      const options = { isolation, openDeadlineMs: 500 };
      await drive("a hanging login", () => openPkcs11Signer(base(stage, pin.text, options)));
      shim.release();
      if (isolation === "thread") return;
      await drive(
        "a crash",
        () => openPkcs11Signer(base(stage, pin.text, { isolation })),
        () => shim.set("crash", true),
      );
    });
  });
});

describe("a source of the PIN", PATIENT, () => {
  const ways: readonly (readonly [how: string, given: (value: unknown) => unknown])[] = [
    ["is", (value) => value],
    ["is a function that gives", (value) => () => value],
    ["is a function that throws", (value) => () => Promise.reject(value)],
    [
      "is a function whose error has",
      (value) => () => Promise.reject(Object.assign(new Error("no"), { config: { headers: value }, response: value })),
    ],
  ];
  test.each(ways)("that %s a secret", async (how, given) => {
    await stages.each(chosen(wrong.values, 6), (stage, [what, value]) =>
      drive(`a source that ${how} ${what}`, () => openPkcs11Signer(base(stage, given(value)))),
    );
  });

  test("a number, which a person may write for a PIN", async () => {
    const digits = 4_817_263_950_124_837;
    await stages.each([digits, () => digits, BigInt(digits)], async (stage, given) => {
      const error = await watch.sawCall(() => openPkcs11Signer(base(stage, given)), "a number");
      expect(String(error)).not.toContain("48172639");
    });
  });

  const uriOf = ({ shim, token }: Stage, query: string): string =>
    `pkcs11:token=${token};object=k1?module-path=${shim.module}&${query}`;
  const openUri = (stage: Stage, query: string, options: Pkcs11AdapterOptions = {}): Promise<Signer> =>
    openSigner(uriOf(stage, query), [pkcs11(options)], { policy: SHORT });

  test("a file, or what is written in its place", async () => {
    const content = `${wrongPin.text}\n`;
    await writeFile(join(folder, "pin"), content);
    await writeFile(join(folder, "binary"), Buffer.concat([Buffer.from(pin.text), Buffer.of(0xff, 0xfe)]));
    await mkdir(join(folder, "folder"));
    const value = encodeURIComponent(word.text);
    const sources = [
      `file:${folder}/pin`,
      `file:${folder}/binary`,
      `file:${folder}/folder`,
      `file:${folder}/none`,
      `file:${value}`,
      value,
      `|echo ${value}`.replaceAll(" ", "%20"),
      `file:///etc/${value}?a=b`,
      `https://user:${value}@host/`,
    ];
    const failing = { pinSource: () => Promise.reject(new Error(word.text)) };
    for (const options of [{}, failing])
      await stages.each(sources, (stage, source) =>
        drive(source, () => openUri(stage, `pin-source=${source}`, options)),
      );
  });

  test("the URI itself", async () => {
    const values = [
      encodeURIComponent(pin.text),
      encodeURIComponent(wrongPin.text),
      `${word.text}%FF`,
      `${word.text}%`,
      "",
    ];
    for (const allowPinValue of [true, false])
      await stages.each(values, (stage, value) =>
        drive("pin-value", () => openUri(stage, `pin-value=${value}`, { allowPinValue })),
      );
  });
});

test("a secret in the place of any option or key URI", PATIENT, async () => {
  const names = ["serial", "slotId", "id", "publicKey", "libraryParameters", "isolation", "signal"];
  const misplaced = (stage: Stage): readonly (readonly [where: string, options: object])[] => [
    ...misplacedIn(base(stage, pin.text, { openDeadlineMs: 300 }), names, wrong),
  ];
  await stages.eachOf(misplaced, async (_stage, [what, options]) => {
    await drive(what, () => openPkcs11Signer(options as never));
    await watch.sawCall(() => pkcs11(options), `the adapter with ${what}`);
    const { pin: _pin, sessions: _sessions, policy: _policy, ...others } = options as Record<string, unknown>;
    await watch.sawCall(() => pkcs11Certificates(others), `certificates with ${what}`);
  });
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
