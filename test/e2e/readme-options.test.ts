import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { publicPackages } from "../../scripts/lib/workspace.mjs";
import { interfacesOf, membersOf, type Members } from "./support/api-report.ts";

// The README of a package has a table for each of its types of options: the head of the first column names the type, or
// several types that share the table. A line "- `Type`: `option`, `option`." lists a type whose options are explained above it.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Options that are not for the callers of a package, or only the parents of other types. */
const WITHOUT_TABLE: Readonly<Record<string, readonly string[]>> = {
  "@signpost/aws-kms": ["AwsKmsCallOptions", "AwsKmsConnectionOptions"],
  "@signpost/azure-key-vault": [
    "AzureKeyVaultCallOptions",
    "AzureKeyVaultConnectionOptions",
    "AzureKeyVaultTokenOptions",
  ],
  "@signpost/core": ["AdapterOpenOptions", "RouteOptions", "SignerErrorOptions", "SignOptions", "VerifyErrorOptions"],
  "@signpost/gcp-kms": ["GcpKmsCallOptions", "GcpKmsConnectionOptions"],
  "@signpost/pkcs11": ["Pkcs11KeyOptions"],
  "@signpost/vault-transit": ["VaultTransitConnectionOptions"],
  "@signpost/verify": ["ClientJwsOptions", "KeySetErrorOptions", "ReplayClaimOptions", "TimeOptions"],
};

interface Listing {
  /** The types that it is for. */
  readonly types: readonly string[];
  /** Names of options, and what the table says of their defaults. */
  readonly options: ReadonlyMap<string, string | undefined>;
}

const TABLE = /^\| (`[A-Z]\w+`(?:, `[A-Z]\w+`)*) \| default \|.*\n\| --- .*\n((?:\|.*\n)+)/gm;
const ROW = /^\| `(\w+)` \| ([^|]+) \|/;
const LINE = /^- `([A-Z]\w+)`: ((?:`\w+`(?:, )?)+)\.$/gm;

function codes(text: string): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, code = ""]) => code);
}

function listings(readme: string): readonly Listing[] {
  const tables = [...readme.matchAll(TABLE)].map(([, types = "", rows = ""]) => ({
    types: codes(types),
    options: new Map(
      rows
        .trim()
        .split("\n")
        .map((row) => {
          const [, name = row, value = ""] = ROW.exec(row) ?? [];
          return [name, value.trim()];
        }),
    ),
  }));
  const lines = [...readme.matchAll(LINE)].map(([, type = "", names = ""]) => ({
    types: [type],
    options: new Map(codes(names).map((name) => [name, undefined])),
  }));
  return [...tables, ...lines];
}

/** True: each of the types that has the option wants it. */
function unionOf(types: readonly string[]): Members {
  const members = types.flatMap((type) => [...membersOf(type)]);
  return new Map(members.map(([name]) => [name, members.every(([other, must]) => other !== name || must)]));
}

describe.each(publicPackages())("the README of $name", ({ name, folder, entryPoints }) => {
  const readme = readFileSync(join(ROOT, folder, "README.md"), "utf8");
  const found = listings(readme);

  test("has a list for each type of options, and each once", () => {
    const types = interfacesOf(folder.replace("packages/", "")).filter((type) =>
      /(?:Options|Policy|Harness)$/.test(type),
    );
    const listed = found.flatMap((listing) => listing.types);
    expect([...listed, ...(WITHOUT_TABLE[name] ?? [])].toSorted()).toEqual(types.toSorted());
  });

  test.each(found)("names the options of $types, and no other", ({ types, options }) => {
    expect([...options.keys()].toSorted()).toEqual([...unionOf(types).keys()].toSorted());
  });

  test.each(found)("says which options of $types are required", ({ types, options }) => {
    const isTable = [...options.values()].every((value) => value !== undefined);
    const said = [...options].filter(([, value]) => value === "required").map(([option]) => option);
    const real = [...unionOf(types)].filter(([, must]) => must).map(([option]) => option);
    expect(isTable ? said.toSorted() : []).toEqual(isTable ? real.toSorted() : []);
  });

  test("says how to install it, and has an example of at most 15 lines", () => {
    const [, command = ""] = /^```sh\n(npm install .*)$/m.exec(readme) ?? [];
    expect(command.split(" ")).toContain(name);
    // Nothing imports a program.
    if (entryPoints.length === 0) return expect(readme).toMatch(/^```sh\nnpm install .*\nsignpost /m);
    const [, example = ""] = /^```ts\n([\s\S]*?)^```/m.exec(readme) ?? [];
    expect(example).toContain(`from "${name}"`);
    expect(example.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);
  });
});
