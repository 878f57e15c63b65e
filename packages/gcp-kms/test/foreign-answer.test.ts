import { expect, test } from "vitest";
import { foreignStatus } from "../src/foreign-answer.ts";

const GOOGLE = '{"error":{"code":404,"message":"no such key","status":"NOT_FOUND"}}';

test.each<[what: string, error: unknown, status: number | undefined]>([
  ["gRPC, of Google", { code: 5, details: "no such key" }, undefined],
  ["gRPC, of another", { code: 12, details: "Received HTTP status code 404" }, 404],
  ["gRPC, whose details begin like that", { code: 12, details: "Received HTTP status code 404 of x" }, undefined],
  ["gRPC, whose details end like that", { code: 12, details: "x: Received HTTP status code 404" }, undefined],
  ["details that are a list", { code: 12, details: ["Received HTTP status code 404"] }, undefined],
  ["6.x, of Google", { code: 5, httpStatusCode: 404, details: [] }, undefined],
  ["6.x, a page", { code: 5, httpStatusCode: 404 }, 404],
  ["6.x, other JSON", { httpStatusCode: 503, details: [] }, 503],
  ["6.x, without a status", { code: 5, httpStatusCode: "404" }, undefined],
  ["5.x, of Google", { code: 404, message: GOOGLE }, undefined],
  ["5.x, a page", { code: 404, message: "<html>" }, 404],
  ["5.x, an empty page", { code: 404, message: "" }, 404],
  ["5.x, other JSON", { code: 404, message: '{"message":"no route"}' }, 404],
  ["5.x, an error without words", { code: 404, message: '{"error":"no route"}' }, 404],
  ["5.x, null", { code: 404, message: "null" }, 404],
  ["5.x, the lowest status", { code: 100, message: "" }, 100],
  ["a status of gRPC", { code: 99, message: "" }, undefined],
  ["a code of Node", { code: "ECONNRESET", message: "" }, undefined],
  ["no error", undefined, undefined],
])("the status of an answer that is not Google's: %s", (_what, error, status) => {
  expect(foreignStatus(error)).toBe(status);
});
