import { describe, expect, test } from "vitest";
import { findGaps } from "../../scripts/api/gaps.mjs";
import { publicEntryPoints } from "../../scripts/lib/workspace.mjs";

type Declarations = Parameters<typeof findGaps>[0][number];
type Notice = Declarations["notices"][number];
type Model = Declarations["model"];

const EXAMPLE = "/**\n * Opens it.\n *\n * @example\n *\n * ```ts\n * open();\n * ```\n */\n";

function declarations(name: string, exported: readonly Model[], notices: readonly Notice[] = []): Declarations {
  const [, member = "", ...path] = name.split("/");
  const id = [member, ...path].join(".");
  const entry = { name, id, folder: `packages/${member}`, declarations: "dist/index.d.ts", source: "src/index.ts" };
  const model = { kind: "Package", members: [{ kind: "EntryPoint", members: exported }] };
  return { entry, reportFile: `${id}.api.md`, model, notices };
}

function notice(id: string, text: string): Notice {
  return { id, text, path: "packages/core/src/index.ts", line: 7, isError: false };
}

describe("what the gate of the public declarations refuses", () => {
  test("a declaration or a member without a comment, at its line", () => {
    const notices = ["kty", "__call"].map((name) => notice("ae-undocumented", `Missing documentation for "${name}".`));
    expect(findGaps([declarations("@signpost/core", [], notices)])).toEqual([
      "packages/core/src/index.ts:7: kty has no comment",
      "packages/core/src/index.ts:7: the call signature has no comment",
    ]);
  });

  test("a function without an example, however many overloads it has", () => {
    const exported = [
      { kind: "Function", name: "open", docComment: "/**\n * Opens it.\n */\n" },
      { kind: "Function", name: "open", docComment: "/**\n * Opens it bare: ```ts is no fence here.\n */\n" },
      { kind: "Interface", name: "Options", docComment: "/**\n * Options.\n */\n" },
    ];
    expect(findGaps([declarations("@signpost/core", exported)])).toEqual(["@signpost/core: open() has no example"]);
  });

  test("a type that is used but not exported by any entry point of its package", () => {
    const hidden = ["Signer", "Hidden"].map((name) =>
      notice("ae-forgotten-export", `The symbol "${name}" needs to be exported by the entry point adapter.d.ts`),
    );
    const signer = { kind: "Interface", name: "Signer", docComment: "/**\n * Signs.\n */\n" };
    const adapter = declarations("@signpost/core/adapter", [], hidden);
    expect(findGaps([declarations("@signpost/core", [signer]), adapter])).toEqual([
      "packages/core/src/index.ts:7: Hidden is used by an export of @signpost/core/adapter, but is not exported",
    ]);
    expect(findGaps([declarations("@signpost/verify", [signer]), adapter])).toHaveLength(2);
  });

  test("what the compiler says", () => {
    const error = { ...notice("TS2307", "Cannot find module"), isError: true };
    expect(findGaps([declarations("@signpost/core", [], [error])])).toEqual([
      "packages/core/src/index.ts:7: Cannot find module",
    ]);
  });

  test("and nothing else", () => {
    const exported = [
      { kind: "Function", name: "open", docComment: EXAMPLE },
      { kind: "Function", name: "open", docComment: "/**\n * Opens it bare.\n */\n" },
    ];
    expect(findGaps([declarations("@signpost/core", exported, [notice("ae-other", "Something")])])).toEqual([]);
  });
});

test("every entry point of every package is looked at", () => {
  const entries = publicEntryPoints();
  expect(entries).toContainEqual({
    name: "@signpost/core",
    id: "core",
    folder: "packages/core",
    declarations: "packages/core/dist/index.d.ts",
    source: "packages/core/src/index.ts",
  });
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
});
