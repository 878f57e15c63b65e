import { expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { inOurWords } from "../src/keys/pin-refusal.ts";
import { secretReader } from "../src/keys/secret-reference.ts";
import { pinAsker, pinOptions, pinPlace, pinReader, pinTrier } from "../src/keys/secrets.ts";
import { createKeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

const asked: string[] = [];
vi.mock("../src/program/prompts.ts", () => ({
  canAsk: () => true,
  askSecret: (_context: unknown, message: string) => Promise.resolve(`pin-${asked.push(message)}`),
}));

test("tokens of one name in two modules are asked for one by one, and keys of one token once", async () => {
  const context = recordingContext("/");
  const ask = pinAsker(context);
  const pinOf = (uri: string): Promise<object> => pinOptions(uri, {}, context, ask);
  expect(await pinOf("pkcs11:token=op;object=a?module-path=/a.so")).toEqual({ pin: "pin-1" });
  expect(await pinOf("pkcs11:token=op;object=b?module-path=/b.so")).toEqual({ pin: "pin-2" });
  expect(await pinOf("pkcs11:token=op;object=c?module-path=/a.so")).toEqual({ pin: "pin-1" });
  expect(await pinOf("pkcs11:token=op?module-path=/c?1.so")).toEqual({ pin: "pin-3" });
  expect(await pinOf("pkcs11:token=op?module-path=/c?2.so")).toEqual({ pin: "pin-4" });
  expect(asked.splice(0)).toEqual(Array.from({ length: 4 }, () => "PIN of token=op"));
});

test.each([
  "token=op&pin-value=987654;object=a",
  "token=op,pin-value=987654;object=a",
  "token=op;pin-value=987654;object=a",
  "token=op%3Bpin_value%3D987654;object=a",
  "token=op|987654;object=a",
  "object=a",
])("the question for the PIN of %s shows none", async (path) => {
  const context = recordingContext("/");
  await pinOptions(`pkcs11:${path}?pin-source=prompt:`, {}, context, pinAsker(context));
  expect(asked.splice(0)).toEqual(["PIN of the token"]);
});

test.each(["FILE:", "Env:", "PROMPT:"])("the scheme of a source may be in capitals: %s", async (scheme) => {
  await using folder = await createKeyFolder();
  await folder.write("pin", "1234\n");
  const place = { "FILE:": `${folder.path}/pin`, "Env:": "OP_PIN", "PROMPT:": "" }[scheme] ?? "";
  const context = { ...recordingContext("/"), env: { OP_PIN: "1234" } };
  const uri = `pkcs11:token=op;object=a?pin-source=${scheme}${place}`;
  const pin = await pinReader(uri, {}, context, () => Promise.resolve("1234"));
  expect(pin).toBe("1234");
  expect(await (await secretReader(`${scheme}${place}`, context))?.()).toBe(scheme === "PROMPT:" ? "pin-1" : "1234");
  asked.splice(0);
});

test("a function that gives no PIN is not waited for without end", async () => {
  vi.useFakeTimers();
  const pin = (): Promise<string> => new Promise(() => undefined);
  const context = recordingContext("/");
  const ask = (): Promise<string> => Promise.reject(new Error("asked"));
  const reading = pinReader("pkcs11:token=op;object=a", { pin }, context, ask).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  expect(await reading).toMatchObject({ code: "timeout", message: "the PIN did not arrive within 10000 ms" });
});

test.each([
  [
    "refused the PIN from the option pin. Correct the PIN at its source. If you fixed the token instead, call forgetRefusedPins()",
    "refused the PIN from the terminal. Correct the PIN at its source",
  ],
  [
    "Log in with another tool first, then call forgetRefusedPins() or restart this process",
    "Log in with another tool first, then run this command again",
  ],
  ["If it is right, call forgetRefusedPins(), which allows it", "If it is right, run this command again"],
])("no one is told to call a function: %s", (message, expected) => {
  const told = inOurWords(new SignerError("pin_incorrect", message), "the terminal");
  expect(told).toMatchObject({ code: "pin_incorrect", message: expected });
});

test.each<[given: unknown, pin: string | undefined]>([
  ["1234", "1234"],
  [Buffer.from("1234é"), "1234é"],
  [Buffer.from("\uFEFF1"), "\uFEFF1"],
  [1234, undefined],
])("a function that gives %o gives the PIN %j", async (given, pin) => {
  const ask = (): Promise<string> => Promise.reject(new Error("asked"));
  const read = () => Promise.resolve(given);
  expect(await pinReader("pkcs11:token=op;object=a", { pin: read }, recordingContext("/"), ask)).toBe(pin);
});

test("bytes that are not UTF-8 are no PIN", async () => {
  const ask = (): Promise<string> => Promise.reject(new Error("asked"));
  const pin = () => Promise.resolve(Uint8Array.of(0xff));
  await expect(pinReader("pkcs11:token=op;object=a", { pin }, recordingContext("/"), ask)).rejects.toThrow(TypeError);
});

test("a PIN that was wrong is not tried for another key of its token, and those of other tokens are", async () => {
  const tryPin = pinTrier();
  const tried: string[] = [];
  const opening = (uri: string, code?: "pin_incorrect" | "pin_locked"): Promise<unknown> =>
    tryPin(uri, async () => {
      tried.push(uri);
      if (code !== undefined) throw new SignerError(code, "refused");
      return "opened";
    }).catch((error: unknown) => error);
  const [wrong, same] = ["pkcs11:token=op;object=a?module-path=/a.so", "pkcs11:token=op;object=b?module-path=/a.so"];
  // Anything else that fails says nothing of the PIN.
  await opening(wrong, "pin_locked");
  await opening(wrong, "pin_incorrect");
  expect(await opening(same)).toMatchObject({
    exitCode: 3,
    code: "pin_incorrect",
    message: "not tried, because this PIN was wrong for another key of the token",
    hint: "Correct the PIN first",
  });
  const [otherToken, otherModule, otherPin] = [
    "pkcs11:token=other;object=a?module-path=/a.so",
    "pkcs11:token=op;object=a?module-path=/b.so",
    "pkcs11:token=op;object=a?module-path=/a.so&pin-source=env:A",
  ];
  for (const uri of [otherToken, otherModule, otherPin]) expect(await opening(uri)).toBe("opened");
  expect(tried).toEqual([wrong, wrong, otherToken, otherModule, otherPin]);
});

test.each<[query: string, options: object, place: string | undefined]>([
  ["?pin-source=env:OP_PIN", {}, "the variable OP_PIN"],
  ["?pin-source=prompt:", {}, "the terminal"],
  ["?pin-source=file:/a", {}, undefined],
  ["?module-path=/a&pin-source=env%3AA", {}, "the variable A"],
  ["", {}, "the terminal"],
  ["", { pin: () => "1234" }, undefined],
  ["", { pin: Object.assign(() => "1234", { place: "adapters.pkcs11.pin (env:A)" }) }, "adapters.pkcs11.pin (env:A)"],
])("the PIN of pkcs11:token=op%s with %o comes from %s", (query, options, place) => {
  expect(pinPlace(`pkcs11:token=op${query}`, { ...options })).toBe(place);
});
