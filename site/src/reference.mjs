import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Application, ReflectionKind } from "typedoc";
import { readJson, ROOT } from "../../scripts/lib/repository.mjs";
import { publicEntryPoints } from "../../scripts/lib/workspace.mjs";
import { REFERENCE } from "./pages.mjs";

/**
 * Writes a page for each public entry point, from the doc comments in the sources.
 *
 * @param {string} folder of the pages
 */
export async function writeReference(folder) {
  const entries = publicEntryPoints();
  const app = await Application.bootstrapWithPlugins(
    /** @type {any} */ ({
      ...SETTINGS,
      basePath: ROOT,
      entryPoints: entries.map(({ source }) => join(ROOT, source)),
      tsconfig: join(ROOT, "site/tsconfig.reference.json"),
      out: join(folder, REFERENCE),
    }),
  );
  const project = await app.convert();
  if (project === undefined) throw new Error("typedoc could not read the sources");
  for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
    // typedoc calls a module by the path of its file.
    const entry = entries.find(({ source }) => source.replace(/(?:\/index)?\.ts$/, "") === module.name);
    if (entry === undefined) throw new Error(`${module.name} is no public entry point`);
    module.name = entry.name;
  }
  await app.generateOutputs(project);
  if (app.logger.hasErrors()) throw new Error("typedoc reported errors");
  writeFileSync(join(folder, REFERENCE, "index.md"), contents(entries));
}

/** The page that lists the others. @param {readonly import("../../scripts/lib/workspace.mjs").EntryPoint[]} entries */
function contents(entries) {
  return [
    "# API reference",
    "",
    "Every name that the packages export, from the comments in their sources. The page of a package has all of its options in tables,",
    "such as [the options of core](/packages/core.md#options).",
    "",
    "| import | what it is for |",
    "| --- | --- |",
    ...entries.map(({ name, folder }) => {
      const what = PARTS[name] ?? readJson(join(folder, "package.json")).description;
      return `| [\`${name}\`](${name.replace(/^@[^/]+\//, "")}.md) | ${what} |`;
    }),
    "",
  ].join("\n");
}

/** What entry points are for that are only a part of their package. @type {Readonly<Record<string, string>>} */
const PARTS = {
  "@signpost/core/adapter": "What packages that build on core need, such as adapters",
  "@signpost/aws-kms/https": "AWS KMS without the AWS SDK",
};

const SETTINGS = {
  plugin: ["typedoc-plugin-markdown"],
  logLevel: "Warn",
  readme: "none",
  excludeInternal: true,
  excludePrivate: true,
  // Members that come with the language, such as those of Error.
  excludeExternals: true,
  groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "References"],
  // The `types` gate has checked them, with the compiler of the repository.
  skipErrorChecking: true,
  disableSources: true,
  includeVersion: false,
  outputFileStrategy: "modules",
  excludeScopesInPaths: true,
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  useHTMLEncodedBrackets: true,
  sanitizeComments: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  propertyMembersFormat: "table",
  tableColumnSettings: {
    hideSources: true,
    hideDefaults: true,
    hideModifiers: true,
    hideInherited: true,
    hideOverrides: true,
  },
};
