import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, vi } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { frozenAt } from "../support/frozen-clock.ts";
import { runApp } from "../support/run-app.ts";
import { runCli, type CliResult } from "../support/run-cli.ts";

/** When the tests of these commands happen. */
export const NOW = "2026-07-01T09:00:00Z";
export const FROZEN: NodeJS.ProcessEnv = frozenAt(NOW);

export interface TestEntry {
  readonly keyId?: string;
  readonly signer?: string;
  readonly publicKey?: object;
  readonly announcedFrom: string;
  readonly activeFrom: string;
  readonly emergencyAt?: string;
}

/** The first key signs since January. The second is announced, and signs from 14:00. */
export const ENTRIES: readonly TestEntry[] = [
  {
    keyId: "sig-2026-01",
    signer: "local:a.pem",
    announcedFrom: "2026-01-01T00:00:00Z",
    activeFrom: "2026-01-01T00:00:00Z",
  },
  {
    keyId: "sig-2026-07",
    signer: "local:b.pem",
    announcedFrom: "2026-07-01T08:00:00Z",
    activeFrom: "2026-07-01T14:00:00Z",
  },
];

export function configOf(entries: readonly object[] = ENTRIES, options: object = {}): object {
  return { issuer: "https://op.example", keys: { maxTokenLifetimeSeconds: 3600, entries, ...options } };
}

/** A configuration as people write it: an entry a line. */
export function configText(entries: readonly object[] = ENTRIES): string {
  const lines = entries.map((entry) => {
    const members = Object.entries(entry).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
    return `      { ${members.join(", ")} }`;
  });
  return [
    "{",
    '  "issuer":   "https://op.example",',
    '  "keys": {',
    '    "maxTokenLifetimeSeconds": 3600,',
    '    "entries": [',
    lines.join(",\n"),
    "    ]",
    "  },",
    '  "adapters": { "local": {} }',
    "}",
    "",
  ].join("\n");
}

/** A folder with the keys a.pem, b.pem, c.pem, and the configuration. */
export async function rotationFolder(): Promise<KeyFolder> {
  const folder = await createKeyFolder();
  await Promise.all(["a.pem", "b.pem", "c.pem"].map((name) => folder.addKey(name)));
  await folder.write("signpost.config.json", configText());
  return folder;
}

/** The folder in which the tests of a file run commands, at a time that stands still. */
export interface FrozenFolder {
  readonly path: () => string;
  /** Runs `signpost rotate` in this process. */
  readonly rotate: (...args: readonly string[]) => Promise<CliResult>;
  /** The same in a process. */
  readonly spawned: (args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<CliResult>;
  /** Writes a configuration for one test, and returns the option that names it. */
  readonly file: (name: string, content?: unknown) => Promise<readonly string[]>;
  readonly read: (name: string) => Promise<string>;
}

/** Sets the folder up before the tests of a file, and removes it after them. The paths of local keys start there. */
export function frozenFolder(): FrozenFolder {
  const before = process.cwd();
  let folder: KeyFolder;
  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(NOW) });
    folder = await rotationFolder();
    process.chdir(folder.path);
  });
  afterAll(async () => {
    process.chdir(before);
    vi.useRealTimers();
    await folder[Symbol.asyncDispose]();
  });
  return {
    path: () => folder.path,
    rotate: (...args) => runApp(["rotate", ...args], { cwd: folder.path }),
    spawned: (args, env) => runCli(["rotate", ...args], { cwd: folder.path, env: { ...FROZEN, ...env } }),
    file: async (name, content = configText()) => {
      await folder.write(name, content);
      return ["--config", name];
    },
    read: (name) => readFile(join(folder.path, name), "utf8"),
  };
}
