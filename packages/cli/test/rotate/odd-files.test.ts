import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { configOf, ENTRIES, frozenFolder } from "./support.ts";

const { rotate, file } = frozenFolder();
const [first, second] = ENTRIES;

describe.each([
  ["in the query", "pkcs11:token=op;object=a?pin-value=987654"],
  ["in the path", "pkcs11:token=op;object=a;pin-value=987654"],
  ["in capitals", "PKCS11:token=op;object=a?PIN-VALUE=987654"],
  ["after a wrong separator", "pkcs11:token=op,pin%2Dvalue=987654;object=a"],
])("a PIN in a key URI, %s", (_name, signer) => {
  test.each([
    ["plan"],
    ["plan --json"],
    ["validate"],
    ["validate --json"],
    ["emergency sig-2026-07 --dry-run"],
    ["emergency away --dry-run --json"],
    ["announce --signer local:c.pem --dry-run"],
  ])("is a mistake of usage for %s, and not printed", async (line) => {
    const config = configOf([{ ...first, keyId: undefined, signer }, { ...second }]);
    const { code, stdout, stderr } = await rotate(...line.split(" "), ...(await file("pin.json", config)));
    expect(code).toBe(2);
    expect(stdout + stderr).toContain("keys.entries[0].signer");
    expect(stdout + stderr).toContain("A PIN in a URI ends up in logs");
    expect(stdout + stderr).not.toContain("987654");
  });
});

test("a label may contain the words, if its equals sign is escaped", async () => {
  const entry = { ...first, signer: "pkcs11:token=op;object=pin-value%3Da" };
  expect(await rotate("plan", ...(await file("label.json", configOf([entry]))))).toMatchObject({ code: 0 });
});

test("a signer that is no key URI may be a secret, and is not printed", async () => {
  const config = configOf([{ ...first, keyId: undefined, signer: "hunter2" }]);
  for (const command of ["plan", "validate"]) {
    const { code, stdout, stderr } = await rotate(command, ...(await file("secret.json", config)));
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain("hunter2");
  }
});

describe("validate finds without opening keys", () => {
  async function mistakes(config: unknown): Promise<readonly string[]> {
    const { stdout } = await rotate("validate", "--json", ...(await file("checked.json", config)));
    const findings: readonly Record<string, string>[] = JSON.parse(stdout).findings;
    return findings.filter(({ level }) => level === "mistake").map((found) => `${found["path"]}: ${found["text"]}`);
  }

  test("two entries with the same key URI", async () => {
    expect(await mistakes(configOf([{ ...first }, { ...second, signer: first?.signer }]))).toEqual([
      "keys.entries[1]: expected a different key, got the key of entries[0]",
    ]);
  });

  test("a kid of a list that another published key has too", async () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const legacy = { keyId: "a", publicKey: publicKey.export({ format: "jwk" }), alg: "RS256" };
    const keys = [{ keyId: "a", signer: "local:a.pem" }];
    expect(await mistakes({ issuer: "https://op.example", keys, legacyVerificationKeys: [legacy] })).toEqual([
      'keys: each keyId must be unique in the set, got "a" twice',
    ]);
  });
});
