import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { ROOT, scratchFolder } from "../lib/repository.mjs";

/** @typedef {import("../lib/workspace.mjs").EntryPoint} EntryPoint */

/**
 * The declarations of an entry point.
 *
 * @typedef {object} Declarations
 * @property {EntryPoint} entry
 * @property {string} reportFile a report for people, which is compared line by line
 * @property {ApiModel} model the same as data
 * @property {readonly Notice[]} notices
 */

/** What API Extractor notices, at `path` (relative to the clone) and `line`. */
/** @typedef {{ id: string, text: string, path: string, line: number, isError: boolean }} Notice */
/** @typedef {{ kind: string, name?: string, docComment?: string, members?: readonly ApiModel[] }} ApiModel */

/** The settings of a current project that reads the compiled declarations. */
const COMPILER_OPTIONS = {
  module: "nodenext",
  target: "es2023",
  lib: ["es2023", "es2024.string", "esnext.disposable"],
  types: ["node"],
  strict: true,
  skipLibCheck: true,
};

/** Off unless listed below: we use no release tags, and doc comments are Markdown with few TSDoc tags. */
const QUIET = { default: { logLevel: "none" } };

/**
 * Reads the compiled declarations of entry points with API Extractor, which contains its own compiler and needs no network.
 *
 * @param {readonly EntryPoint[]} entries
 * @returns {Promise<Declarations[]>}
 */
export async function extractDeclarations(entries) {
  const { CompilerState, Extractor, ExtractorConfig } = await apiExtractor();
  const folder = scratchFolder("api");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const configs = entries.map((entry) => ({
    entry,
    config: ExtractorConfig.prepare({
      configObject: /** @type {import("@microsoft/api-extractor").IConfigFile} */ (
        configuration(entry, folder, entries)
      ),
      configObjectFullPath: undefined,
      packageJsonFullPath: join(ROOT, entry.folder, "package.json"),
    }),
  }));
  const [first] = configs;
  if (first === undefined) return [];
  const compilerState = CompilerState.create(first.config, {
    additionalEntryPoints: configs.map(({ config }) => config.mainEntryPointFilePath),
  });
  return configs.map(({ entry, config }) => {
    /** @type {Notice[]} */
    const notices = [];
    Extractor.invoke(config, {
      compilerState,
      localBuild: true,
      messageCallback: (message) => {
        message.handled = true;
        notices.push({
          id: message.messageId,
          text: message.text,
          path: relative(ROOT, message.sourceFilePath ?? join(ROOT, entry.folder)),
          line: message.sourceFileLine ?? 1,
          isError: ["error"].includes(message.logLevel),
        });
      },
    });
    return {
      entry,
      reportFile: join(folder, `${entry.id}.api.md`),
      model: JSON.parse(readFileSync(config.apiJsonFilePath, "utf8")),
      notices,
    };
  });
}

/** It is CommonJS. It is loaded here, because scripts that install it import this file first. */
async function apiExtractor() {
  const { default: extractor } = await import("@microsoft/api-extractor");
  return extractor;
}

/**
 * @param {EntryPoint} entry
 * @param {string} folder
 * @param {readonly EntryPoint[]} entries all entry points, since they are compiled together
 * @returns {object} as in an api-extractor.json, where levels are words. The types want an enum
 */
function configuration(entry, folder, entries) {
  const projectFolder = join(ROOT, entry.folder);
  return {
    projectFolder,
    mainEntryPointFilePath: join(ROOT, entry.declarations),
    compiler: {
      overrideTsconfig: {
        compilerOptions: COMPILER_OPTIONS,
        files: entries.map(({ declarations }) => join(ROOT, declarations)),
      },
    },
    apiReport: {
      enabled: true,
      reportFolder: folder,
      reportTempFolder: join(folder, "temp"),
      reportFileName: `${entry.id}.api.md`,
    },
    docModel: { enabled: true, apiJsonFilePath: join(folder, `${entry.id}.api.json`) },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    newlineKind: "lf",
    messages: {
      compilerMessageReporting: { default: { logLevel: "error" } },
      extractorMessageReporting: {
        ...QUIET,
        "ae-undocumented": { logLevel: "warning" },
        "ae-forgotten-export": { logLevel: "warning" },
      },
      tsdocMessageReporting: QUIET,
    },
  };
}
