import { generateKeyPairSync } from "node:crypto";
import { access, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CliError } from "../../src/program/cli-error.ts";
import { replaceFile } from "../../src/rotate/change/write-config.ts";
import { configOf, configText, ENTRIES, frozenFolder } from "./support.ts";

const { path, rotate, file, read } = frozenFolder();
const NEW = ["--signer", "local:c.pem", "--key-id", "sig-2027-01"];
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

test.each([
  ["-0", '"clockSkewSeconds": -0,'],
  ["a number that is too large", `"ignored": 1e999,`],
])("%s is no obstacle for a change", async (_name, member) => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = JSON.stringify(publicKey.export({ format: "jwk" }));
  const dates = `"announcedFrom": "2025-01-01T00:00:00Z", "activeFrom": "2025-01-01T00:00:00Z"`;
  const isOption = member.includes("Seconds");
  const old = `{ "keyId": "old", "publicKey": ${isOption ? jwk : jwk.replace("{", `{${member}`)}, ${dates} },`;
  const entries = `${isOption ? member : ""} "entries": [${old}`;
  const text = configText([{ ...first, announcedFrom: "2025-12-01T00:00:00Z" }]).replace('"entries": [', entries);
  expect(await rotate("announce", ...NEW, "--yes", ...(await file("number.json", text)))).toMatchObject({ code: 0 });
  expect(await read("number.json")).toContain(member);
  expect(JSON.parse(await read("number.json")).keys.entries).toHaveLength(3);
});

describe("of several programs that change a file at once", () => {
  test("only one does", async () => {
    const place = join(path(), "raced.json");
    await writeFile(place, "before");
    const texts = Array.from({ length: 10 }, (_, index) => `after ${index}`);
    const before = Buffer.from("before");
    const results = await Promise.allSettled(texts.map((text) => replaceFile(place, before, Buffer.from(text))));
    const written = results.flatMap(({ status }, index) => (status === "fulfilled" ? [texts[index]] : []));
    expect(written).toEqual([await readFile(place, "utf8")]);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toBeInstanceOf(CliError);
    }
    expect((await readdir(path())).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("one that was killed has left a file, which is named before any key is opened", async () => {
    const left = join(path(), ".killed.json.signpost");
    await writeFile(left, "half");
    const args = ["announce", "--signer", "local:away.pem", ...(await file("killed.json")), "--yes"];
    const { code, stderr } = await rotate(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(".killed.json.signpost is there, so another command changes the file now");
    expect(stderr).toContain("If no other command runs, one was killed: remove that file");
    await expect(replaceFile(join(path(), "killed.json"), Buffer.from(""), Buffer.from(""))).rejects.toMatchObject({
      code: "file_changing",
    });
    await access(left);
    expect(await read("killed.json")).toBe(configText());
  });
});
