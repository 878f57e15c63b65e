import { expect, test } from "vitest";
import { screened } from "../src/program/screened.ts";
import { runApp } from "./support/run-app.ts";

test.each([
  [
    "pkcs1:token=op?pin-value=987654&module-path=/m.so: away",
    "pkcs1:token=op?pin-value=(a PIN)&module-path=/m.so: away",
  ],
  ["PKCS11:object=a;PIN-VALUE=987654", "PKCS11:object=a;PIN-VALUE=(a PIN)"],
  ['"pin_value=987654"', '"pin_value=(a PIN)"'],
  ["pin%2Dvalue%3D987654 is", "pin%2Dvalue%3D(a PIN) is"],
  // Our own words.
  ["contains pin-value= or pin-source=. Put one", "contains pin-value= or pin-source=. Put one"],
  ["The URI contains pin-value=. Use", "The URI contains pin-value=. Use"],
])("a PIN in a text is not shown: %s", (text, shown) => {
  expect(screened(text)).toBe(shown);
});

test.each(["pkcs1:token=op;object=a?pin-value=987654", "pkcs11 :token=op?pin-value=987654"])(
  "nor that of %s, which is read as the name of a file",
  async (source) => {
    const { code, stdout, stderr } = await runApp(["cert", "inspect", source]);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("cannot be read"),
    });
    expect(stderr).not.toContain("987654");
  },
);
