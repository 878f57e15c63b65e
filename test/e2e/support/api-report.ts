import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// Reads interfaces from the reports in etc/, which the gate `api` keeps equal to what users can import.

const ETC = fileURLToPath(new URL("../../../etc", import.meta.url));

/** Members of an interface by name. True: it must be given. */
export type Members = ReadonlyMap<string, boolean>;

const reports = readdirSync(ETC).filter((name) => name.endsWith(".api.md"));
const texts = new Map(reports.map((name) => [name.replace(/\.api\.md$/, ""), readFileSync(join(ETC, name), "utf8")]));

const INTERFACE = /^export interface (\w+)(?:<[^>]*>)?(?: extends ([^{]+))? \{\n([\s\S]*?)^\}/gm;
/** Indented once: members of nested types are not members. */
const MEMBER = /^ {4}(?:readonly )?(\w+)(\??)[:(]/gm;
const PARENT = /(?:(Pick|Omit)<(\w+), ([^>]+)>|(\w+))(?:, |$)/g;

interface Declaration {
  readonly parents: string;
  readonly own: Members;
}

function declarationsIn(text: string): readonly (readonly [string, Declaration])[] {
  return [...text.matchAll(INTERFACE)].map(([, name = "", parents = "", body = ""]) => {
    const own = [...body.matchAll(MEMBER)].map(([, member = "", optional]) => [member, optional === ""] as const);
    return [name, { parents, own: new Map(own) }];
  });
}

const declarations = new Map([...texts.values()].flatMap((text) => declarationsIn(text)));

/** The names of the interfaces that an entry point exports: `core`, `core.adapter`. */
export function interfacesOf(entry: string): readonly string[] {
  return declarationsIn(texts.get(entry) ?? "").map(([name]) => name);
}

/** The members of an interface, with those of its parents. */
export function membersOf(name: string): Members {
  const declaration = declarations.get(name);
  if (declaration === undefined) throw new Error(`No report in etc/ has an interface ${name}`);
  const inherited = [...declaration.parents.matchAll(PARENT)].flatMap(([, how, base = "", names = "", plain]) => {
    if (plain !== undefined) return [...membersOf(plain)];
    const listed = new Set([...names.matchAll(/"(\w+)"/g)].map(([, member]) => member));
    return [...membersOf(base)].filter(([member]) => listed.has(member) === (how === "Pick"));
  });
  return new Map([...inherited, ...declaration.own]);
}
