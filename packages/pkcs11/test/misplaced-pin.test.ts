import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { mayHoldPin, shown } from "../src/request/misplaced-pin.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

test.each(["sec1", "pkcs8"] as const)("a private key in PEM (%s) is not shown, whole or without its lines", (type) => {
  const pem = privateKey.export({ type, format: "pem" }).toString();
  for (const value of [pem, pem.replaceAll("=", ""), pem.replaceAll(/[\n=]/g, "")]) {
    expect(mayHoldPin(value)).toBe(true);
    expect(shown(value)).toBe("(not shown: it contains a separator and may hold a PIN)");
  }
});

test.each(["op", "sig-2026", "Ünïcode label", "a b", "---"])("the label %j is shown", (value) => {
  expect(shown(value)).toBe(JSON.stringify(value));
});
