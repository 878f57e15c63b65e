import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { memberOf, safeCause, textMember } from "@signpost/core/adapter";

const TOKEN = "s3cret-token";
const rules = { members: ["code", "$metadata"] };

/** As SDKs throw them: the request and the response hang on the error. */
function clientError(message: string, more: object = {}): Error {
  const request = { headers: { authorization: TOKEN } };
  return Object.assign(
    new Error(message),
    { name: "ClientError", code: "E1", request, config: { token: TOKEN } },
    more,
  );
}

describe("safeCause", () => {
  test("keeps message, name, stack and the members that the rules name", () => {
    const error = clientError("it failed");
    const copy = safeCause(error, rules);
    expect(copy).toBeInstanceOf(Error);
    expect(copy).toMatchObject({ message: "it failed", name: "ClientError", code: "E1", stack: error.stack });
  });

  test.each([
    ["the error", clientError("it failed")],
    ["the cause", clientError("it failed", { cause: clientError("beneath") })],
    ["a member that is kept", clientError("it failed", { $metadata: { attempts: 1, request: { token: TOKEN } } })],
    ["a member that is a list of objects", clientError("it failed", { code: [{ token: TOKEN }] })],
  ])("leaves out what hangs on %s", (_name, error) => {
    expect(inspect(safeCause(error, rules), { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });

  test("keeps numbers and texts of a member that is an object", () => {
    const copy = safeCause(clientError("it failed", { $metadata: { httpStatusCode: 503, requestId: "r" } }), rules);
    expect(memberOf(copy, "$metadata")).toEqual({ httpStatusCode: 503, requestId: "r" });
  });

  test("follows causes, and ends on a circle", () => {
    const error = clientError("outer", { cause: clientError("inner") });
    expect(safeCause(error, rules)).toMatchObject({ cause: { message: "inner" } });
    const circle = clientError("round");
    circle.cause = circle;
    expect(safeCause(circle, rules)).toMatchObject({ message: "round" });
  });

  test("keeps four causes below an error, and no more", () => {
    const chain = [6, 5, 4, 3, 2, 1, 0].reduce<Error | undefined>(
      (cause, level) => clientError(`level ${level}`, cause === undefined ? {} : { cause }),
      undefined,
    );
    const messages: unknown[] = [];
    for (let link = safeCause(chain, rules); link !== undefined; link = memberOf(link, "cause"))
      messages.push(memberOf(link, "message"));
    expect(messages).toEqual(["level 0", "level 1", "level 2", "level 3", "level 4"]);
  });

  test("keeps name and stack as every Error has them: not enumerable", () => {
    const copy = safeCause(clientError("it failed"), rules);
    expect(Object.keys(Object(copy))).toEqual(["code"]);
  });

  test("leaves out a thrown text that repeats the request", () => {
    const hides = (_error: unknown, message: string): boolean => message.includes(TOKEN);
    expect(safeCause(`signed with ${TOKEN}`, { ...rules, hides })).toBeUndefined();
    expect(safeCause("closed", { ...rules, hides })).toBe("closed");
  });

  test("leaves out a member that cannot be read", () => {
    const locked = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("locked");
        },
      },
    );
    const error = Object.defineProperty(clientError("it failed", { $metadata: locked }), "code", {
      get: () => {
        throw new Error("no code");
      },
    });
    expect(Object.keys(Object(safeCause(error, rules)))).toEqual([]);
  });

  test("leaves out a message that repeats the request, and the stack that begins with it", () => {
    const hides = (_error: unknown, message: string): boolean => message.includes(TOKEN);
    const error = clientError(`signed with ${TOKEN}`, { cause: clientError("beneath") });
    const copy = safeCause(error, { ...rules, hides });
    expect(copy).toMatchObject({ message: "", name: "ClientError", cause: { message: "beneath" } });
    expect(inspect(copy, { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });

  test("accepts errors of another realm and thrown strings, and nothing else", () => {
    expect(safeCause(runInNewContext('new Error("foreign")'), rules)).toMatchObject({ message: "foreign" });
    expect(safeCause("closed", rules)).toBe("closed");
    for (const thrown of [undefined, null, 7, {}, [TOKEN]]) expect(safeCause(thrown, rules)).toBeUndefined();
  });
});

test("memberOf reads a member of any thrown value", () => {
  expect(memberOf(clientError("it failed"), "code")).toBe("E1");
  for (const thrown of [undefined, null, "text", 7, () => 1]) expect(memberOf(thrown, "code")).toBeUndefined();
  expect(
    memberOf(
      Object.assign(() => 1, { code: "E1" }),
      "code",
    ),
  ).toBeUndefined();
});

describe("textMember", () => {
  test("returns text as it is", () => {
    expect(textMember(new Error("it failed"), "message")).toBe("it failed");
  });

  test.each([
    ["an object that has no text form", { code: { toString: 1, valueOf: 1 } }],
    ["an object without a prototype", { code: Object.create(null) as object }],
    ["a symbol", { code: Symbol("a") }],
    ["a number", { code: 14 }],
    ["nothing", {}],
  ])("is empty for %s", (_name, thrown) => {
    expect(textMember(thrown, "code")).toBe("");
  });
});

describe("a cause without what was sent", () => {
  const secrets = ["s3cr3t-token-of-a-test"];

  test("has no message, stack or member that repeats a part of it", () => {
    const error = Object.assign(new Error("token s3cr3t-tok… refused"), { code: "s3cr3t-token", status: 403 });
    const cause = safeCause(error, { members: ["code", "status"], secrets });
    expect(cause).toMatchObject({ message: "", status: 403 });
    expect(inspect(cause, { showHidden: true })).not.toContain("s3cr3t");
  });

  test("has none in its own causes and lists of members", () => {
    const inner = Object.assign(new Error("no"), { $metadata: { requestId: "s3cr3t-token-of-a-test", status: 403 } });
    const error = new Error("failed", { cause: inner });
    const cause = safeCause(error, { members: ["$metadata"], secrets });
    expect(cause).toMatchObject({ message: "failed", cause: { message: "no", $metadata: { status: 403 } } });
    expect(inspect(cause, { depth: 9, showHidden: true })).not.toContain("s3cr3t");
  });

  test("keeps only codes of an error whose message is hidden", () => {
    const error = Object.assign(new Error("a text"), {
      name: "the same text",
      code: "E_REFUSED",
      reason: "the same text",
    });
    const cause = safeCause(error, { members: ["code", "reason"], hides: () => true });
    expect(cause).toMatchObject({ code: "E_REFUSED", message: "" });
    expect(inspect(cause, { showHidden: true })).not.toContain("text");
  });
});
