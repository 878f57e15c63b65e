import { afterEach, describe, expect, test, vi } from "vitest";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { moduleChild } from "./support/isolation.ts";
import { type OpeningThread, startOpeningThread } from "./support/opening-thread.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { openingOutcome, outcome, until } from "./support/signing.ts";

const WRONG = "00000000";
const OTHER_WRONG = "11111111";
const at = useShimmedToken(1);
let threads: OpeningThread[] = [];

afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.end()));
  threads = [];
});

function start(count: number): readonly OpeningThread[] {
  threads = Array.from({ length: count }, startOpeningThread);
  return threads;
}

/** From now on the clock goes on by itself as before, and can be put forward. Returns how to end that. */
function useClock(): () => void {
  const { setInterval: every, clearInterval: end } = globalThis;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const ticking = every(() => vi.advanceTimersByTime(10), 10);
  return () => {
    end(ticking);
    vi.useRealTimers();
  };
}

function wrong(isolation: "thread" | "process" = "thread") {
  return { ...at.base, pin: WRONG, isolation, openDeadlineMs: 60_000 };
}

describe("a PIN that the token refused", () => {
  test.each(["thread", "process"] as const)(
    "is sent once by a process, though five of its threads try at the same time, isolation %s",
    async (isolation) => {
      const codes = await Promise.all(start(5).map((thread) => thread.open(wrong(isolation))));
      expect(codes).toEqual(Array(5).fill("pin_incorrect"));
      expect(at.shim.calls("C_Login")).toBe(1);
    },
  );

  test("is not sent again by a thread that comes after every signer of the others was closed, and after they have ended", async () => {
    expect(await openingOutcome(at.opener.open(wrong()))).toBe("pin_incorrect");
    for (let count = 0; count < 2; count += 1) {
      const [thread] = start(1);
      expect(await thread?.open(wrong())).toBe("pin_incorrect");
      await thread?.end();
      threads = [];
    }
    expect(at.shim.calls("C_Login")).toBe(1);
  });

  test("is not sent again by the other isolation, nor by a program that opens again in a loop", async () => {
    for (let count = 0; count < 2; count += 1) {
      for (const isolation of ["thread", "process"] as const) {
        const uri = `pkcs11:token=${at.base.token};object=k1;type=private?module-path=${at.shim.module}`;
        await expect(at.opener.open(wrong(isolation))).rejects.toMatchObject({ code: "pin_incorrect", uri });
      }
    }
    expect(at.shim.calls("C_Login")).toBe(1);
    // Nor by a thread that uses its own module.
    expect(await openingOutcome(at.opener.open({ ...wrong(), module: at.hsm.module }))).toBe("pin_incorrect");
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("in two spellings rules out a third one, in every thread, until an operator says that the token was fixed", async () => {
    const [thread] = start(1);
    expect(await thread?.open(wrong())).toBe("pin_incorrect");
    expect(await openingOutcome(at.opener.open({ ...at.base, pin: OTHER_WRONG }))).toBe("pin_incorrect");
    await expect(at.opener.open(at.base)).rejects.toMatchObject({
      code: "pin_incorrect",
      message: expect.stringMatching(/refused two different PINs.*was not sent.*forgetRefusedPins/) as string,
    });
    expect(at.shim.calls("C_Login")).toBe(2);
    await thread?.forget();
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("no longer counts once the token has accepted one, but is still not sent", async () => {
    expect(await openingOutcome(at.opener.open(wrong()))).toBe("pin_incorrect");
    for (const pin of [at.hsm.pin, OTHER_WRONG, at.hsm.pin]) {
      await openingOutcome(at.opener.open({ ...at.base, pin }));
      await at.opener.closeAll();
    }
    expect(at.shim.calls("C_Login")).toBe(4);
    expect(await openingOutcome(at.opener.open(wrong()))).toBe("pin_incorrect");
    expect(at.shim.calls("C_Login")).toBe(4);
  });

  test("of a source is asked for again, and another one is sent, once it may have changed", async () => {
    let [pin, asked] = [WRONG, 0];
    const source = (): string => ((asked += 1), pin);
    const open = (): Promise<string> => openingOutcome(at.opener.open({ ...at.base, pin: source }));
    expect([await open(), await open()]).toEqual(["pin_incorrect", "pin_incorrect"]);
    // At most every five seconds, unless everything was forgotten.
    expect(asked).toBe(1);
    await forgetRefusedPins();
    expect([await open(), asked, at.shim.calls("C_Login")]).toEqual(["pin_incorrect", 2, 2]);
    await forgetRefusedPins();
    pin = at.hsm.pin;
    expect([await open(), asked, at.shim.calls("C_Login")]).toEqual(["opened", 3, 3]);
  });

  test("only counts as refused when the token said that it is incorrect", async () => {
    for (const code of [0xa1, 0xa2, 0xa4]) {
      at.shim.fail("C_Login", code, { times: 1 });
      expect(await openingOutcome(at.opener.open(at.base))).toMatch(/^pin_/);
    }
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(4);
  });
});

describe("a signer in another thread than the login of its token", () => {
  test("has its PIN compared with the accepted one: the same is proven, another one is not sent", async () => {
    await at.opener.open(at.base);
    const [same, different] = start(2);
    expect(await same?.open({ ...at.base, pin: at.hsm.pin })).toBe("opened");
    expect(await same?.notes()).toEqual([]);
    expect(await different?.open(wrong())).toBe("pin_incorrect");
    expect(at.shim.calls("C_Login")).toBe(1);
    // That was no refusal: the others go on, and the token would be asked.
    await Promise.all([at.opener.closeAll(), same?.close()]);
    expect(await different?.open(wrong())).toBe("pin_incorrect");
    expect(at.shim.calls("C_Login")).toBe(2);
  });

  test("continues with a note if the source of the accepted one also returns the new PIN", async () => {
    const [first] = start(1);
    expect(await first?.open({ ...at.base, pin: at.hsm.pin })).toBe("opened");
    await first?.setPin("24681357");
    const second = await at.opener.open({ ...at.base, pin: "24681357" });
    expect(second.health().notes).toEqual([expect.stringMatching(/the PIN was changed/)]);
    expect(await outcome(second)).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(1);
  });
});

test("a right PIN is proven, and a wrong one refused, though the source of the accepted one in another thread fails", async () => {
  const [first] = start(1);
  expect(await first?.open({ ...at.base, pin: at.hsm.pin })).toBe("opened");
  // That is no PIN.
  await first?.setPin("");
  const openDeadlineMs = 5_000;
  const second = await at.opener.open({ ...at.base, openDeadlineMs });
  expect(second.health().notes).toEqual([]);
  await second.close();
  expect(await openingOutcome(at.opener.open({ ...wrong(), openDeadlineMs }))).toBe("pin_incorrect");
  expect(at.shim.calls("C_Login")).toBe(1);
});

test.each(["thread", "process"] as const)(
  "a source that does not answer is named by the error of an opening, and by health, isolation %s",
  async (isolation) => {
    const waits = `^pkcs11:token=${at.hsm.tokenLabel};object=k1\\S*: .* 12345 ms: token "${at.hsm.tokenLabel}" \\(serial .*\\) waits for the PIN from the function of the option pin$`;
    const timers = vi.spyOn(globalThis, "setTimeout");
    const answers: ((pin: string) => void)[] = [];
    const slow = (): Promise<string> => new Promise((resolve) => answers.push(resolve));
    const answerAll = (): void => answers.splice(0).forEach((answer) => answer(at.hsm.pin));
    const opening = at.opener.open({ ...at.base, isolation, pin: slow, openDeadlineMs: 12_345 });
    const ended = expect(opening).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(waits) as string,
    });
    await until(() => answers.length === 1);
    // Its own source would answer, but logins are made one after the other.
    const neighbor = at.opener.open({ ...at.base, isolation, openDeadlineMs: 12_346 });
    const alsoEnded = expect(neighbor).rejects.toMatchObject({
      message: expect.stringMatching(waits.replace("12345", "12346")) as string,
    });
    for (const limit of [12_346, 12_345]) timers.mock.calls.find(([, ms]) => ms === limit)?.[0]();
    timers.mockRestore();
    await alsoEnded;
    await ended;
    answerAll();
    let pin = (): string | Promise<string> => at.hsm.pin;
    const policy = { attemptTimeoutMs: 10_000, deadlineMs: 20_000 };
    const signer = await at.opener.open({ ...at.base, isolation, policy, pin: () => pin() });
    pin = slow;
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    const signing = outcome(signer);
    await until(() => signer.health().notes.includes("a login waits for the PIN from the function of the option pin"));
    answerAll();
    expect(await signing).toBe("signed");
    await until(() => signer.health().notes.length === 0);
  },
);

describe("a signer whose PIN became wrong", () => {
  test("asks its source again every five seconds, and signs once that gives the right one", async () => {
    for (const isolation of ["thread", "process"] as const) {
      let [pin, asked] = [at.hsm.pin, 0];
      const ask = (): string => ((asked += 1), pin);
      const signer = await at.opener.open({ ...at.base, isolation, pin: ask });
      const endClock = useClock();
      try {
        pin = WRONG;
        if (isolation === "process") process.kill(await moduleChild(), "SIGKILL");
        else at.shim.fail("C_Sign", 0x30, { times: 1 });
        await until(async () => (await outcome(signer)) === "pin_incorrect");
        const logins = at.shim.calls("C_Login");
        expect(asked).toBe(2);
        await vi.advanceTimersByTimeAsync(5_100);
        await until(() => asked === 3);
        pin = at.hsm.pin;
        expect(await outcome(signer)).toBe("pin_incorrect");
        expect(at.shim.calls("C_Login")).toBe(logins);
        await vi.advanceTimersByTimeAsync(5_100);
        await until(async () => (await outcome(signer)) === "signed");
        expect([asked, at.shim.calls("C_Login")]).toEqual([4, logins + 1]);
        await until(() => signer.health().status === "ready");
      } finally {
        endClock();
      }
      await at.opener.closeAll();
      await forgetRefusedPins();
    }
  });

  test("signs again as soon as another one opens with the right PIN", async () => {
    for (const isolation of ["thread", "process"] as const) {
      let pin = at.hsm.pin;
      const signer = await at.opener.open({ ...at.base, isolation, pin: () => pin });
      pin = WRONG;
      at.shim.fail("C_Sign", 0x30, { times: 1 });
      await until(async () => (await outcome(signer)) === "pin_incorrect");
      await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({ code: "pin_incorrect", uri: signer.uri });
      expect(signer.health().status).toBe("down");
      await at.opener.open({ ...at.base, isolation });
      await until(async () => (await outcome(signer)) === "signed");
      await until(() => signer.health().status === "ready");
      await at.opener.closeAll();
      await forgetRefusedPins();
    }
  });

  test("is ready again once its source was corrected, though another thread was the first to log in", async () => {
    let pin = at.hsm.pin;
    const signer = await at.opener.open({ ...at.base, pin: () => pin });
    const endClock = useClock();
    try {
      pin = WRONG;
      at.shim.fail("C_Sign", 0x30, { times: 1 });
      await until(async () => (await outcome(signer)) === "pin_incorrect");
      const [thread] = start(1);
      expect(await thread?.open({ ...at.base, pin: at.hsm.pin })).toBe("opened");
      await vi.advanceTimersByTimeAsync(5_100);
      await until(async () => (await outcome(signer)) === "signed");
      expect(signer.health()).toMatchObject({
        status: "degraded",
        notes: [expect.stringMatching(/refused the PIN/) as string],
      });
      pin = at.hsm.pin;
      await vi.advanceTimersByTimeAsync(5_100);
      await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
      expect(signer.health().notes).toEqual([]);
    } finally {
      endClock();
    }
  });
});
