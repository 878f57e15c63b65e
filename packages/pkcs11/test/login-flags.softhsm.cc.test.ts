import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { CKO } from "@signpost/test-backends/pkcs11-binding";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import { logOut } from "./support/module-user.ts";
import { startOpeningThread } from "./support/opening-thread.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, until } from "./support/signing.ts";
import { useToken } from "./support/token-user.ts";

// Flags of CK_TOKEN_INFO that modules forget to set.
const LOGIN_REQUIRED = 0x4;
const USER_PIN_INITIALIZED = 0x8;
const PIN_PAD = 0x100;
const TOKEN_INITIALIZED = 0x400;
const ISOLATIONS = ["thread", "process"] as const;
const at = useShimmedToken(2);
beforeAll(() => {
  const { module, tokenLabel: token, pin } = at.hsm;
  generateP256Key({ module, token, pin, label: "open", id: Buffer.from([9]), hidden: false });
  generateP256Key({ module, token, pin, label: "half", id: Buffer.from([10]), hidden: false, publicHidden: true });
});
afterEach(() => at.opener.closeAll());

const open = (options: Partial<GuardedOptions> = {}): Promise<GuardedSigner> =>
  at.opener.open({ ...at.base, ...options });
const refusal = (options: Partial<GuardedOptions>): Promise<unknown> =>
  open(options).then(
    () => "opened",
    (error: unknown) => error,
  );

describe.each(ISOLATIONS)("a token that does not say that it has a PIN, isolation %s", (isolation) => {
  test("is logged in to anyway", async () => {
    at.shim.token({ withoutFlags: USER_PIN_INITIALIZED });
    expect(await outcome(await open({ isolation }))).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(1);
  });
});

describe.each(ISOLATIONS)("a token that does not say that it is initialized, isolation %s", (isolation) => {
  test("is opened by its label", async () => {
    at.shim.token({ withoutFlags: TOKEN_INITIALIZED });
    expect(await outcome(await open({ isolation }))).toBe("signed");
  });
});

describe.each(ISOLATIONS)("a token that asks for no login and hides its keys, isolation %s", (isolation) => {
  test("is logged in to for a hidden key", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const signer = await open({ isolation });
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health()).toMatchObject({ status: "ready", notes: [] });
    expect(at.shim.calls("C_Login")).toBe(1);
  });

  test("is logged in to with the PIN of the key's own signer, not with that of a signer that needs none", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const first = await open({ isolation, object: "open", pin: () => "00000000" });
    expect(await outcome(await open({ isolation }))).toBe("signed");
    expect(await outcome(first)).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(1);
  });

  test("is logged in to for a key whose public half is hidden", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    expect(await outcome(await open({ isolation, object: "half" }))).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(1);
    expect(await refusal({ isolation, object: "half", pin: "00000000" })).toMatchObject({ code: "pin_incorrect" });
  });

  test("says that a public half is missing after one login", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    at.shim.fail("C_FindObjectsInit", 0x54, { objectClass: CKO.public });
    expect(await refusal({ isolation, object: "open" })).toMatchObject({
      code: "key_not_found",
      message: expect.stringMatching(/no public key or certificate with the CKA_ID of "open"/) as string,
    });
    expect(at.shim.calls("C_Login")).toBe(1);
  });

  test("refuses only the signer with the wrong PIN", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const right = await open({ isolation, object: "open" });
    expect(await refusal({ isolation, pin: "00000000" })).toMatchObject({ code: "pin_incorrect" });
    expect(await outcome(await open({ isolation }))).toBe("signed");
    expect(await outcome(right)).toBe("signed");
    expect(at.shim.calls("C_Login")).toBe(2);
  });

  test("says key_not_found after a login", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    expect(await refusal({ isolation, object: "k2" })).toMatchObject({
      code: "key_not_found",
      message: expect.stringMatching(
        /no private key with label "k2"; .*"k1" \(id 01\).*; this was seen after a login/,
      ) as string,
    });
  });

  test("says pin_incorrect for a wrong PIN, and why it was tried", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    expect(await refusal({ isolation, pin: "00000000" })).toMatchObject({
      code: "pin_incorrect",
      message: expect.stringMatching(
        /CKR_PIN_INCORRECT.*does not ask for a login.*no private key with label "k1"/,
      ) as string,
    });
    expect(at.shim.calls("C_Login")).toBe(1);
  });
});

describe("a token that asks for no login and hides its keys", () => {
  test("is logged in to again after another user's logout, for each of its signers", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const first = await open();
    const second = await open();
    await first.close();
    logOut(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(second)) === "signed");
    expect(at.shim.calls("C_Login")).toBe(2);
    expect(at.shim.calls("C_Finalize")).toBe(0);
  });

  test("is searched again by every session that did so before the login of another one", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    at.shim.delay("C_Login", 100);
    const signer = await open({ sessions: 4 });
    const signAtOnce = (): Promise<string[]> => Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
    const all = Array.from({ length: 8 }, () => "signed");
    expect(await signAtOnce()).toEqual(all);
    logOut(at.shim.module, at.hsm.tokenLabel);
    expect(await signAtOnce()).toEqual(all);
    expect(at.shim.calls("C_Login")).toBe(2);
    expect(at.shim.calls("C_Finalize")).toBe(0);
  });

  test("opens two keys at once with one login", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    at.shim.delay("C_Login", 300);
    const options = { sessions: 4, policy: { maxAttempts: 1 } };
    const opened = await Promise.allSettled([open(options), open(options)]);
    expect(opened.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  });

  test("opens no key with a wrong PIN because another signer logs in meanwhile", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    at.shim.delay("C_Login", 300);
    const options = { sessions: 4, policy: { maxAttempts: 1 } };
    const right = open(options);
    const wrong = refusal({ ...options, pin: "00000000" });
    expect(await wrong).toMatchObject({ code: "pin_incorrect" });
    expect(await outcome(await right)).toBe("signed");
  });

  test("opens no key with a wrong PIN because another thread has logged in since its sessions were opened", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const thread = startOpeningThread();
    try {
      await open({ object: "open" });
      expect(await thread.open({ ...at.base, pin: at.hsm.pin })).toBe("opened");
      expect(await refusal({ pin: "00000000" })).toMatchObject({ code: "pin_incorrect" });
      expect(await refusal({ pin: at.hsm.pin })).toBe("opened");
      expect(at.shim.calls("C_Login")).toBe(1);
    } finally {
      await thread.end();
    }
  });

  test("says that a PIN was not proven if other code has logged in since its sessions were opened", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    const first = await open({ object: "open" });
    useToken({ module: at.shim.module, token: at.hsm.tokenLabel, pin: at.hsm.pin }, () => undefined);
    const signer = await open({ pin: "00000000" });
    expect(await outcome(signer)).toBe("signed");
    expect(signer.health().notes).toEqual([expect.stringMatching(/was not proven/)]);
    expect(first.health().notes).toEqual([]);
  });

  test("without a PIN, or with a PIN pad, shows no key: key_not_found, and nothing is sent to a PIN pad", async () => {
    at.shim.token({ withoutFlags: LOGIN_REQUIRED });
    at.shim.fail("C_Login", 0x102);
    expect(await refusal({})).toMatchObject({
      code: "key_not_found",
      message: expect.stringMatching(/without a login.*A login did not help: .*CKR_USER_PIN_NOT_INITIALIZED/) as string,
    });
    const logins = at.shim.calls("C_Login");
    at.shim.token({ flags: PIN_PAD });
    expect(await refusal({})).toMatchObject({
      code: "key_not_found",
      message: expect.stringMatching(/A login did not help: .*PIN pad/) as string,
    });
    expect(at.shim.calls("C_Login")).toBe(logins);
  });
});

test("key_not_found says that a login was made if the token asks for one", async () => {
  expect(await refusal({ object: "k2" })).toMatchObject({
    code: "key_not_found",
    message: expect.stringContaining("this was seen after a login") as string,
  });
});
