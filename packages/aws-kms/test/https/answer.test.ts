import { describe, expect, test } from "vitest";
import { decodeBase64, readAnswer } from "../../src/https/answer.ts";

function replyOf(status: number, body: string, headers: Record<string, string> = {}) {
  return { status, headers, body: Buffer.from(body) };
}

describe("a successful answer", () => {
  test("is its members", () => {
    expect(readAnswer(replyOf(200, '{"KeyId":"arn"}'))).toEqual({ KeyId: "arn" });
  });

  test("without a body has none", () => {
    expect(readAnswer(replyOf(200, ""))).toEqual({});
  });

  test.each(["<html>", '{"KeyId":"ar', "[]", "null", '"text"', "1"])("is refused if it is %s", (body) => {
    const metadata = { httpStatusCode: 200, requestId: "id-1" };
    expect(() => readAnswer(replyOf(200, body, { "x-amzn-requestid": "id-1" }))).toThrow(
      expect.objectContaining({ name: "SyntaxError", $metadata: metadata }),
    );
  });
});

describe("the name of an error", () => {
  test.each<[string, number, string, Record<string, string>, string]>([
    ["its __type", 400, '{"__type":"NotFoundException"}', {}, "NotFoundException"],
    ["its __type after a namespace", 400, '{"__type":"com.amazonaws.kms#NotFoundException"}', {}, "NotFoundException"],
    ["its code", 400, '{"code":"NotFoundException"}', {}, "NotFoundException"],
    ["its header", 400, "", { "x-amzn-errortype": "DisabledException" }, "DisabledException"],
    [
      "its header before a URL",
      400,
      "{}",
      { "x-amzn-errortype": "DisabledException:http://internal.amazon.com/" },
      "DisabledException",
    ],
    ["its Code", 400, '{"Code":"NotFoundException"}', {}, "NotFoundException"],
    [
      "its __type, as for the SDK, if its header says something else",
      400,
      '{"__type":"NotFoundException"}',
      { "x-amzn-errortype": "DisabledException" },
      "NotFoundException",
    ],
    [
      "its header if its __type is none",
      400,
      '{"__type":7}',
      { "x-amzn-errortype": "NotFoundException" },
      "NotFoundException",
    ],
    ["unknown for a page", 502, "<html>", {}, "UnknownError"],
    ["unknown for a redirect", 302, "", {}, "UnknownError"],
    ["unknown if it is none", 400, '{"__type":"a name with spaces"}', {}, "UnknownError"],
    ["unknown if it is not text", 400, '{"__type":7}', {}, "UnknownError"],
  ])("is %s", (_what, status, body, headers, name) => {
    expect(() => readAnswer(replyOf(status, body, headers))).toThrow(
      expect.objectContaining({ name, $metadata: expect.objectContaining({ httpStatusCode: status }) }),
    );
  });

  test.each([
    [302, "client"],
    [400, "client"],
    [499, "client"],
    [500, "server"],
    [503, "server"],
  ])("comes with who is at fault: status %i is of the %s", (status, $fault) => {
    expect(() => readAnswer(replyOf(status, "{}"))).toThrow(expect.objectContaining({ $fault }));
  });

  test.each(["message", "Message"])("comes with the member %s", (member) => {
    const body = JSON.stringify({ __type: "KMSInvalidStateException", [member]: "arn is pending deletion." });
    expect(() => readAnswer(replyOf(400, body))).toThrow("arn is pending deletion.");
  });
});

describe("base64", () => {
  test("is decoded", () => {
    expect(decodeBase64("AAEC/+8=")).toEqual(Buffer.from([0, 1, 2, 255, 239]));
  });

  test.each([["AAEC_-8="], ["AAEC/+8"], ["AA EC"], ["AB=="], ["AAEC\n"], [7], [undefined], [null]])(
    "%j is left as it is",
    (value) => {
      expect(decodeBase64(value)).toBe(value);
    },
  );
});
