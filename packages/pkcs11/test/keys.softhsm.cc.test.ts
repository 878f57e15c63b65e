import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { openSigner } from "@signpost/core";
import { pkcs11 } from "@signpost/pkcs11";
import { generateP256Key } from "@signpost/test-backends/pkcs11-keygen";
import type { SoftHsmToken } from "@signpost/test-backends/softhsm";
import { logOut, setPublicKeyInfo } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { openingOutcome, outcome, signsAndVerifies, until } from "./support/signing.ts";

const at = useShimmedToken();

const codeOf = (opening: Promise<unknown>): Promise<unknown> =>
  opening.then(
    () => "opened",
    (error: unknown) => (error as { code?: unknown }).code,
  );
const pem = (publicKey: KeyObject): string => publicKey.export({ type: "spki", format: "pem" }).toString();
const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;

describe("the public half", () => {
  test.each(["as-is", "unwrapped", "bare"] as const)(
    "comes from CKA_EC_POINT, whatever form the module gives it (%s)",
    async (form) => {
      at.shim.pointForm(form);
      const signer = await at.opener.open(at.base);
      expect(at.key.publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    },
  );

  test("is required from the caller if the token has no public object, and proven", async () => {
    const bare = await at.hsm.generateKey({ label: "no-public", id: "0d", publicObject: false });
    const options = { ...at.base, object: "no-public" };
    expect(await codeOf(at.opener.open(options))).toBe("key_not_found");
    expect(await codeOf(at.opener.open({ ...options, publicKey: pem(foreign) }))).toBe("wrong_key");
    const byPem = await at.opener.open({ ...options, publicKey: pem(bare.publicKey) });
    const byJwk = await at.opener.open({ ...options, publicKey: bare.publicKey.export({ format: "jwk" }) });
    expect(await signsAndVerifies(byPem)).toBe(true);
    expect(byJwk.publicKey).toEqual(byPem.publicKey);
  });

  test("is required from the caller for a key without CKA_ID, and the error says so", async () => {
    const { module, tokenLabel: token, pin } = at.hsm;
    const publicKey = generateP256Key({ module, token, pin, label: "no-id", id: Buffer.alloc(0) });
    const options = { ...at.base, object: "no-id" };
    await expect(at.opener.open(options)).rejects.toMatchObject({
      code: "key_not_found",
      message: 'publicKey: "no-id" has no CKA_ID, by which its public key or certificate is found; set this option',
    });
    expect(await signsAndVerifies(await at.opener.open({ ...options, publicKey: pem(publicKey) }))).toBe(true);
  });

  test("comes from a certificate with the same CKA_ID", async () => {
    const { publicKey } = await at.hsm.generateKey({ label: "certified", id: "0e", publicObject: false });
    const certificate = join(at.hsm.directory, "certificate.der");
    await writeFile(certificate, selfMadeCertificate(publicKey));
    await at.hsm.pkcs11Tool("--write-object", certificate, "--type", "cert", "--label", "other-label", "--id", "0e");
    const signer = await at.opener.open({ ...at.base, object: "certified" });
    expect(publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    expect(await signsAndVerifies(signer)).toBe(true);
  });

  test("comes from the private object, where a module shows it there", async () => {
    const { publicKey } = await at.hsm.generateKey({ label: "telling", id: "1f", publicObject: false });
    setPublicKeyInfo(at.hsm, { label: "telling" }, publicKey);
    const signer = await at.opener.open({ ...at.base, object: "telling" });
    expect(publicKey.export({ format: "jwk" })).toMatchObject(signer.publicKey);
    expect(await signsAndVerifies(signer)).toBe(true);
  });

  test("is refused when objects with the key's CKA_ID disagree, unless the caller gives it", async () => {
    const { publicKey } = await at.hsm.generateKey({ label: "twice-a", id: "0f" });
    await at.hsm.generateKey({ label: "twice-b", id: "0f" });
    const options = { ...at.base, object: "twice-a" };
    expect(await codeOf(at.opener.open(options))).toBe("ambiguous_key");
    const signer = await at.opener.open({ ...options, publicKey: pem(publicKey) });
    await until(() => at.shim.counter("openSessions") === 4);
    const signed = await Promise.all(Array.from({ length: 20 }, () => signsAndVerifies(signer)));
    expect(new Set(signed)).toEqual(new Set([true]));
  });

  test("given by the caller must be the key's, also when the token shows the right one", async () => {
    expect(await codeOf(at.opener.open({ ...at.base, publicKey: pem(foreign) }))).toBe("wrong_key");
  });
});

describe("the helper that generates keys", () => {
  test("makes a private half that is sensitive and not extractable, for signing", async () => {
    const { module, tokenLabel: token, pin } = at.hsm;
    generateP256Key({ module, token, pin, label: "made", id: Buffer.from("3a", "hex") });
    const objects = (await at.hsm.pkcs11Tool("--list-objects", "--type", "privkey")).split("Private Key Object");
    const made = objects.find((object) => object.includes("made"));
    expect(made).toMatch(/Usage:\s+.*sign/);
    expect(made).toMatch(/Access:\s+sensitive, always sensitive, never extractable/);
    expect(await signsAndVerifies(await at.opener.open({ ...at.base, object: "made" }))).toBe(true);
  });

  test.each<[what: string, label: string, id: string, text: RegExp]>([
    ["a label", "k1", "3b", /already has a key with this label/],
    ["an id", "another", "01", /already has a key with this id/],
  ])("refuses %s that a key has already, and makes nothing", async (_what, label, id, text) => {
    const { module, tokenLabel: token, pin } = at.hsm;
    const before = await at.hsm.pkcs11Tool("--list-objects");
    expect(() => generateP256Key({ module, token, pin, label, id: Buffer.from(id, "hex") })).toThrow(text);
    expect(await at.hsm.pkcs11Tool("--list-objects")).toBe(before);
  });
});

describe("a key that changes while it is open", () => {
  test("another key under the same label and id is wrong_key, and signs nothing", async () => {
    await at.hsm.generateKey({ label: "swapped", id: "1a" });
    const signer = await at.opener.open({ ...at.base, object: "swapped" });
    await remove(at.hsm, "1a");
    await at.hsm.generateKey({ label: "swapped", id: "1a" });
    await until(async () => (await outcome(signer)) === "wrong_key");
    expect(await outcome(signer)).toBe("wrong_key");
  });

  test("also without a public object, because a signature shows it", async () => {
    const { publicKey } = await at.hsm.generateKey({ label: "swapped-bare", id: "1b", publicObject: false });
    const signer = await at.opener.open({ ...at.base, object: "swapped-bare", publicKey: pem(publicKey) });
    await at.hsm.pkcs11Tool("--delete-object", "--type", "privkey", "--id", "1b");
    await at.hsm.generateKey({ label: "swapped-bare", id: "1b", publicObject: false });
    await until(async () => (await outcome(signer)) === "wrong_key");
    expect(await outcome(signer)).toBe("wrong_key");
  });

  test("also with an old public object left over: the token's public objects are not trusted", async () => {
    await at.hsm.generateKey({ label: "left-over", id: "1d" });
    const signer = await at.opener.open({ ...at.base, object: "left-over" });
    await at.hsm.pkcs11Tool("--delete-object", "--type", "privkey", "--id", "1d");
    await at.hsm.generateKey({ label: "left-over", id: "1e" });
    await at.hsm.pkcs11Tool("--type", "privkey", "--id", "1e", "--set-id", "1d");
    const seen: string[] = [];
    await until(async () => {
      seen.push(await outcome(signer));
      return seen.at(-1) === "wrong_key";
    });
    expect(seen).not.toContain("did not verify");
  });

  test("a deleted key is key_not_found, but only after the module was initialized again", async () => {
    await at.hsm.generateKey({ label: "deleted", id: "1c" });
    const signer = await at.opener.open({ ...at.base, object: "deleted" });
    const neighbour = await at.opener.open(at.base);
    await remove(at.hsm, "1c");
    const seen: string[] = [];
    await until(async () => {
      seen.push(await outcome(signer));
      return seen.at(-1) === "key_not_found";
    });
    expect(seen.slice(0, -1).filter((code) => code !== "unavailable")).toEqual([]);
    expect(at.shim.calls("C_Finalize")).toBe(1);
    expect(await outcome(neighbour)).toBe("signed");
  });

  test("a second key with its label, as in a rotation, is not mistaken for it: each session finds its own key", async () => {
    await at.hsm.generateKey({ label: "rotated", id: "1f01" });
    const signer = await at.opener.open({ ...at.base, object: "rotated" });
    await at.hsm.generateKey({ label: "rotated", id: "1f02" });
    at.shim.fail("C_Sign", 0xb3, { times: 1 });
    const signed = await Promise.all(Array.from({ length: 20 }, () => outcome(signer)));
    expect(new Set(signed)).toEqual(new Set(["signed"]));
    await expect(at.opener.open({ ...at.base, object: "rotated" })).rejects.toMatchObject({ code: "ambiguous_key" });
  });

  test("a deleted key is reported gone immediately if the module was initialized again since it was found", async () => {
    await at.hsm.generateKey({ label: "gone", id: "4a" });
    const signer = await at.opener.open({ ...at.base, object: "gone" });
    await remove(at.hsm, "4a");
    at.shim.fail("C_SignInit", 0x30, { times: 1 });
    expect(await outcome(signer)).toBe("key_not_found");
    expect(at.shim.calls("C_Finalize")).toBe(1);
  });
});

describe("a key that may not sign", () => {
  test("is refused when it is opened", async () => {
    const { module, tokenLabel: token, pin } = at.hsm;
    generateP256Key({ module, token, pin, label: "no-sign", id: Buffer.from("2b", "hex"), sign: false });
    await expect(at.opener.open({ ...at.base, object: "no-sign" })).rejects.toMatchObject({
      code: "unsupported_key",
      message: expect.stringMatching(/CKA_SIGN is false/) as string,
    });
  });
});

/** Gives the PIN until `fail` is called. */
function sourceThatFails() {
  let broken = false;
  const pin = (): string => {
    if (broken) throw new Error("gone");
    return at.hsm.pin;
  };
  return { pin, fail: () => void (broken = true) };
}

describe("the PIN", () => {
  test("that is wrong is tried once, however many signers are opened at the same time", async () => {
    const codes = await Promise.all(
      Array.from({ length: 5 }, () => codeOf(at.opener.open({ ...at.base, pin: "00000000" }))),
    );
    expect(codes).toEqual(Array(5).fill("pin_incorrect"));
    expect(at.shim.calls("C_Login")).toBe(1);
  });

  test.each([
    ["locked", 0x40000, "pin_locked"],
    ["one wrong try from being locked", 0x20000, "pin_incorrect"],
    ["read from a PIN pad", 0x100, "access_denied"],
  ])("is not tried when the token says that it is %s", async (_what, flags, code) => {
    at.shim.token({ flags });
    expect(await codeOf(at.opener.open(at.base))).toBe(code);
    expect(at.shim.calls("C_Login")).toBe(0);
  });

  test("refused later is final for every signer of the token, until all are closed and one is opened again", async () => {
    const first = await at.opener.open({ ...at.base, sessions: 1 });
    at.shim.fail("C_Login", 0xa4);
    logOut(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(first)) === "pin_locked");
    const calls = at.shim.calls("C_Login");
    expect(await outcome(first)).toBe("pin_locked");
    expect(await codeOf(at.opener.open({ ...at.base, sessions: 1 }))).toBe("pin_locked");
    expect(first.health()).toMatchObject({ status: "down", lastCode: "pin_locked" });
    expect(at.shim.calls("C_Login")).toBe(calls);

    await first.close();
    at.shim.clear();
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("is requested from its source on every new login, so a changed PIN needs no restart", async () => {
    const token: SoftHsmToken = await at.hsm.addToken();
    await token.generateKey({ label: "k1", id: "01" });
    let asked = 0;
    let pin = token.pin;
    const signer = await at.opener.open({
      ...at.base,
      token: token.tokenLabel,
      pin: async () => {
        asked += 1;
        return Buffer.from(pin);
      },
    });
    expect(asked).toBe(1);
    pin = "86420975";
    await token.pkcs11Tool("--change-pin", "--new-pin", pin);
    // SoftHSM keeps what it needs to check a PIN from C_Initialize on: a fresh start is what sees the new one.
    at.shim.fail("C_Sign", 0x30, { times: 1 });
    await until(async () => (await outcome(signer)) === "signed");
    expect(asked).toBe(2);
  });

  test("whose source fails makes requests unavailable, and is asked again later", async () => {
    let works = true;
    const signer = await at.opener.open({
      ...at.base,
      sessions: 1,
      pin: () => {
        if (!works) throw new Error("the secret store is away");
        return at.hsm.pin;
      },
    });
    works = false;
    logOut(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(signer)) === "unavailable" && signer.health().status === "down");
    works = true;
    await until(async () => (await outcome(signer)) === "signed");
    expect(signer.health().status).toBe("ready");
  });

  test("whose source fails does not affect signers whose own source returns it", async () => {
    const { pin, fail } = sourceThatFails();
    const first = await at.opener.open({ ...at.base, pin });
    const second = await at.opener.open(at.base);
    fail();
    logOut(at.shim.module, at.hsm.tokenLabel);
    expect(await outcome(second)).toBe("signed");
    expect(await outcome(first)).toBe("signed");
  });

  test("whose source fails, and every session with it, does not keep out a signer whose own source returns it", async () => {
    const { pin, fail } = sourceThatFails();
    const first = await at.opener.open({ ...at.base, pin, policy: { maxAttempts: 1 } });
    fail();
    logOut(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(first)) === "unavailable" && first.health().status === "down");
    expect(await outcome(await at.opener.open(at.base))).toBe("signed");
  });

  test("of another signer is compared with the one that the token accepted, and a wrong one is not sent", async () => {
    for (const isolation of ["thread", "process"] as const) {
      const on = { ...at.base, isolation };
      const proven = await at.opener.open(on);
      const same = await at.opener.open({ ...on, pin: async () => Buffer.from(at.hsm.pin) });
      const logins = at.shim.calls("C_Login");
      await expect(at.opener.open({ ...on, pin: "00000000" })).rejects.toMatchObject({
        code: "pin_incorrect",
        message: expect.stringMatching(/the PIN from the option pin is not the one.*compared and not sent/) as string,
      });
      for (const signer of [proven, same]) {
        expect(await outcome(signer)).toBe("signed");
        await until(() => signer.health().status === "ready");
        expect(signer.health().notes).toEqual([]);
      }
      expect(at.shim.calls("C_Login")).toBe(logins);
      await at.opener.closeAll();
    }
    // The token has not seen it, so nothing was remembered.
    await expect(at.opener.open({ ...at.base, pin: "00000000" })).rejects.toMatchObject({ code: "pin_incorrect" });
    expect(at.shim.calls("C_Login")).toBe(3);
  });

  test("that is wrong is refused even if the source of the accepted one fails, and that source is not named", async () => {
    for (const isolation of ["thread", "process"] as const) {
      const { pin, fail } = sourceThatFails();
      await at.opener.open({ ...at.base, isolation, pin });
      fail();
      const logins = at.shim.calls("C_Login");
      await expect(at.opener.open({ ...at.base, isolation, pin: "00000000" })).rejects.toMatchObject({
        code: "pin_incorrect",
        message: expect.stringMatching(/the PIN from the option pin is not the one.*compared and not sent/) as string,
      });
      expect(at.shim.calls("C_Login")).toBe(logins);
      await at.opener.closeAll();
    }
  });

  test("that is wrong names the token, the source and what to do in the first line", async () => {
    const path = join(at.hsm.directory, "wrong pin");
    await writeFile(path, "00000000");
    const uri = `pkcs11:token=${at.hsm.tokenLabel};object=k1?module-path=${at.shim.module}&pin-source=`;
    const file = `${uri}file:${path.replace(" ", "%2520")}`;
    for (const isolation of ["thread", "process"] as const) {
      const texts = await Promise.all([
        firstLine(at.opener.open({ ...at.base, isolation, pin: "00000000" })),
        firstLine(pkcs11({ isolation, pinSource: () => "00000000" }).open(`${uri}vault:secret`)),
        firstLine(pkcs11({ isolation }).open(file)),
      ]);
      expect(
        texts.map((text) => /^SignerError: token "([^"]*)" \(serial \w+\) refused the PIN from/.exec(text)?.[1]),
      ).toEqual(Array(3).fill(at.hsm.tokenLabel));
      expect(texts.join()).not.toMatch(/00000000|vault:secret/);
      expect(texts[0]).toMatch(
        /the option pin .*sen[dt].* again.*Correct the PIN at its source.*forgetRefusedPins\(\)/,
      );
      expect(texts[1]).toContain("the function of the option pinSource");
      expect(texts[2]).toContain(`pin-source file ${path}`);
    }
  });

  test("that its source does not return is reported with the token and the source in the first line", async () => {
    const uri = `pkcs11:token=${at.hsm.tokenLabel};object=k1?module-path=${at.shim.module}&pin-source=file:/run/none`;
    for (const isolation of ["thread", "process"] as const) {
      expect(await firstLine(pkcs11({ isolation }).open(uri))).toMatch(
        /^SignerError: token "signpost-\d+" \(serial \w+\): pin-source file \/run\/none gave no PIN: ENOENT/,
      );
      const failing = at.opener.open({ ...at.base, isolation, pin: () => Promise.reject(new Error("secret")) });
      expect(await firstLine(failing)).toMatch(
        /the function of the option pin gave no PIN: it failed\. It is asked again/,
      );
    }
  });

  test.each([
    ["the same function", true],
    ["another function", false],
  ])(
    "that was changed admits a signer with the new one from %s, with a note, until a login proves it",
    async (_, isSame) => {
      for (const isolation of ["thread", "process"] as const) {
        let pin = at.hsm.pin;
        const on = { ...at.base, isolation, sessions: 1, pin: () => pin };
        const first = await at.opener.open(on);
        // As where the token was given another PIN since: here it is not right, which the signer cannot know.
        pin = "24681357";
        const second = await at.opener.open(isSame ? on : { ...on, pin: () => pin });
        await until(() => second.health().notes.length > 0);
        expect(second.health().notes).toEqual([expect.stringMatching(/the PIN was changed/)]);
        expect([await outcome(first), await outcome(second)]).toEqual(["signed", "signed"]);
        pin = at.hsm.pin;
        at.shim.fail("C_Sign", 0x30, { times: 1 });
        await until(async () => (await outcome(first)) === "signed" && second.health().notes.length === 0);
        await at.opener.closeAll();
      }
    },
  );

  test("that was changed admits a signer with the new one if any source that was proven returns it", async () => {
    for (const isolation of ["thread", "process"] as const) {
      const base = { ...at.base, isolation, sessions: 1 };
      const before = at.shim.calls("C_Login");
      let pin = at.hsm.pin;
      // This one logs in, and its source never returns the new one.
      await at.opener.open(base);
      await at.opener.open({ ...base, pin: () => pin });
      pin = "24681357";
      const third = await at.opener.open({ ...base, pin });
      await until(() => third.health().notes.length > 0);
      expect(third.health().notes).toEqual([expect.stringMatching(/the PIN was changed/)]);
      expect(await openingOutcome(at.opener.open({ ...base, pin: "11111111" }))).toBe("pin_incorrect");
      expect(at.shim.calls("C_Login") - before).toBe(1);
      await at.opener.closeAll();
    }
  });

  test.each([[""], ["12\u00003"], ["12\uFFFD3"], [Buffer.from([0xff])], [undefined], [7]])(
    "%j is refused before anything is loaded",
    async (pin) => {
      await expect(at.opener.open({ ...at.base, pin: pin as string })).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "pin",
      });
      expect(at.shim.calls("C_Initialize")).toBe(0);
    },
  );
});

describe("sessions", () => {
  test("are at most as many as the token allows", async () => {
    at.shim.token({ maxSessions: 2 });
    const signer = await at.opener.open({ ...at.base, sessions: 8 });
    await until(() => at.shim.counter("openSessions") === 2);
    await Promise.all(Array.from({ length: 20 }, () => outcome(signer)));
    expect(at.shim.counter("openSessions")).toBe(2);
    expect(at.shim.counter("maxInFlight")).toBeLessThanOrEqual(2);
  });

  test("that the token refuses with CKR_SESSION_COUNT are not needed", async () => {
    const signer = await at.opener.open({ ...at.base, sessions: 1 });
    at.shim.fail("C_OpenSession", 0xb1);
    const more = await at.opener.open({ ...at.base, sessions: 4 });
    await until(() => at.shim.calls("C_OpenSession") >= 4);
    expect(await outcome(signer)).toBe("signed");
    expect(await outcome(more)).toBe("signed");
    await until(() => more.health().status === "ready");
  });

  test.each([
    ["CKR_DEVICE_MEMORY", 0x31],
    ["CKR_DEVICE_ERROR", 0x30],
    ["CKR_GENERAL_ERROR", 0x05],
    ["CKR_TOKEN_RESOURCE_EXCEEDED", 0x201],
  ])("that the token refuses with %s cost those that work nothing, and health says so", async (name, code) => {
    const signer = await at.opener.open({ ...at.base, sessions: 1 });
    at.shim.fail("C_OpenSession", code);
    // Longer than the other sessions take to fail.
    at.shim.delay("C_FindObjectsInit", 200);
    const more = await at.opener.open({ ...at.base, sessions: 4 });
    await until(() => at.shim.calls("C_OpenSession") >= 4);
    expect(await outcome(signer)).toBe("signed");
    expect(await outcome(more)).toBe("signed");
    await until(() =>
      more.health().notes.some((note) => note.startsWith(`3 of 4 sessions cannot be opened: C_OpenSession: ${name}`)),
    );
    expect(more.health().status).toBe("degraded");
    expect(at.shim.calls("C_Finalize")).toBe(0);
    at.shim.clear();
    await until(() => more.health().status === "ready");
    expect(more.health().notes).toEqual([]);
  });

  test("that the token held before and now refuses bring a fresh start, without which it might refuse them for good", async () => {
    const signer = await at.opener.open({ ...at.base, sessions: 4 });
    await until(() => at.shim.counter("openSessions") === 4 && signer.health().status === "ready");
    at.shim.fail("C_OpenSession", 0x05);
    at.shim.fail("C_Sign", 0xb3, { times: 1 });
    expect(await outcome(signer)).toBe("signed");
    await until(() => at.shim.calls("C_Finalize") > 0);
    at.shim.clear();
    await until(() => at.shim.counter("openSessions") === 4 && signer.health().status === "ready");
  });

  test("that the token had no room for are opened once it has", async () => {
    const signer = await at.opener.open({ ...at.base, sessions: 1 });
    at.shim.token({ maxSessions: 2 });
    const more = await at.opener.open({ ...at.base, sessions: 4 });
    await until(() => at.shim.calls("C_OpenSession") >= 4 && at.shim.counter("openSessions") === 2);
    expect(await outcome(signer)).toBe("signed");
    await until(() => more.health().status === "ready");
    at.shim.token({ maxSessions: 0 });
    await until(() => at.shim.counter("openSessions") === 4);
    expect(at.shim.calls("C_Finalize")).toBe(0);
  });
});

describe("opening by URI", () => {
  const uriOf = (query: string): string =>
    `pkcs11:token=${at.hsm.tokenLabel};object=k1;id=%01;type=private?module-path=${at.shim.module}${query}`;

  test("reads the PIN from a file, without its line end", async () => {
    const path = join(at.hsm.directory, "pin file");
    await writeFile(path, `${at.hsm.pin}\n`);
    const signer = await openSigner(uriOf(`&pin-source=file:${path.replace(" ", "%2520")}`), [pkcs11()]);
    expect(await signsAndVerifies(signer)).toBe(true);
    await signer.close();
  });

  test("with one pin-source proves the PIN of every signer of the adapter", async () => {
    const path = join(at.hsm.directory, "pin");
    await writeFile(path, at.hsm.pin);
    const adapter = pkcs11();
    const uri = uriOf(`&pin-source=file:${path}`);
    const signers = [await openSigner(uri, [adapter]), await openSigner(uri, [adapter])];
    expect(signers.map((signer) => signer.health().notes)).toEqual([[], []]);
    await Promise.all(signers.map((signer) => signer.close()));
  });

  test("takes the PIN from the adapter, from its source, or from the URI if that is allowed", async () => {
    const asked: string[] = [];
    const pinSource = (source: string): string => {
      asked.push(source);
      return at.hsm.pin;
    };
    for (const [uri, options] of [
      [uriOf(""), { pin: at.hsm.pin }],
      [uriOf("&pin-source=vault:op%26pin"), { pinSource }],
      [uriOf(`&pin-value=${at.hsm.pin}`), { allowPinValue: true }],
    ] as const) {
      const signer = await openSigner(uri, [pkcs11(options)]);
      expect(await signsAndVerifies(signer)).toBe(true);
      expect(signer.uri).not.toContain(at.hsm.pin);
      await signer.close();
    }
    expect(asked).toEqual(["vault:op&pin"]);
  });

  test("does not repeat a value that may contain a PIN, when no token or key matches it", async () => {
    for (const path of [
      `token=${at.hsm.tokenLabel},pin=31415926;object=k1`,
      `token=${at.hsm.tokenLabel}&pin-vaule=31415926;object=k1`,
      `token=${at.hsm.tokenLabel};object=k1,pin:31415926`,
      `token=${at.hsm.tokenLabel};object=k1&pin=31415926`,
      `token=${at.hsm.tokenLabel};object=k1;id=%01,pin=31415926`,
    ]) {
      const opening = pkcs11({ pin: at.hsm.pin }).open(`pkcs11:${path}?module-path=${at.shim.module}`);
      const error: unknown = await opening.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "key_not_found" });
      const text = inspect(error, { depth: 20, showHidden: true });
      expect(text).not.toContain("31415926");
      expect(text).not.toContain(Buffer.from("31415926").toString("hex"));
    }
  });

  test("opens the signer's own URI again", async () => {
    const first = await at.opener.open(at.base);
    const again = await openSigner(first.uri, [pkcs11({ pin: at.hsm.pin })]);
    expect(again.publicKey).toEqual(first.publicKey);
    await again.close();
  });

  test("ends when its signal aborts, and leaves nothing open", async () => {
    at.shim.delay("C_Login", 300);
    const opening = pkcs11({ pin: at.hsm.pin }).open(uriOf(""), { signal: AbortSignal.timeout(100) });
    await expect(opening).rejects.toMatchObject({ code: "aborted" });
    await until(() => at.shim.calls("C_Finalize") === 1);
  });
});

async function remove(token: SoftHsmToken, id: string): Promise<void> {
  for (const type of ["privkey", "pubkey"]) await token.pkcs11Tool("--delete-object", "--type", type, "--id", id);
}

/** The public key in an X.509 certificate whose signature is never checked (RFC 5280 section 4.1). */
function selfMadeCertificate(publicKey: KeyObject): Buffer {
  const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
    return Buffer.concat([Buffer.from([tag, ...length]), content]);
  };
  const ecdsaWithSha256 = der(0x30, Buffer.from("06082a8648ce3d040302", "hex"));
  const name = der(0x30, der(0x31, der(0x30, Buffer.from("0603550403", "hex"), der(0x0c, Buffer.from("op")))));
  const time = (text: string): Buffer => der(0x17, Buffer.from(text));
  const body = der(
    0x30,
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, time("200101000000Z"), time("400101000000Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  return der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0, 0x30, 6, 2, 1, 1, 2, 1, 1])));
}

/** What an operator sees of an error first. */
async function firstLine(opening: Promise<unknown>): Promise<string> {
  const error: unknown = await opening.catch((reason: unknown) => reason);
  return String(error).split("\n")[0] ?? "";
}
