import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Client, ISSUER } from "./support.ts";

const EXAMPLE = fileURLToPath(new URL("..", import.meta.url));

export interface Program {
  readonly url: string;
  /** Sends SIGTERM. Exit code and signal, once it has ended. */
  stop(): Promise<unknown>;
}

/** What is in the two files, as JSON. */
export interface ProgramFiles {
  readonly schedule: string;
  readonly clients: string;
}

/** One key and one client. */
export function filesFor({ jwks }: Client): ProgramFiles {
  const moment = "2020-01-01T00:00:00Z";
  const keys = [{ uri: "local:", announcedFrom: moment, activeFrom: moment }];
  return {
    schedule: JSON.stringify({ maxTokenLifetimeSeconds: 600, keys }),
    clients: JSON.stringify({ rp: { jwks } }),
  };
}

/** The compiled `main.js` in a separate process. */
export async function startProgram(files: ProgramFiles, env: NodeJS.ProcessEnv = {}): Promise<Program> {
  const folder = await mkdtemp(join(tmpdir(), "minimal-op-"));
  const [scheduleFile, clientsFile] = [join(folder, "schedule.json"), join(folder, "clients.json")];
  await writeFile(scheduleFile, files.schedule);
  await writeFile(clientsFile, files.clients);

  const program = spawn(process.execPath, [join(EXAMPLE, "dist/main.js")], {
    env: {
      PATH: process.env["PATH"],
      ISSUER,
      PORT: "0",
      SCHEDULE_FILE: scheduleFile,
      CLIENTS_FILE: clientsFile,
      DRAIN_MS: "50",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(program, "exit");
  const firstLine = once(createInterface(program.stdout), "line") as Promise<[string]>;
  const started = await Promise.race([firstLine, exited]);
  await rm(folder, { recursive: true });
  if (typeof started[0] !== "string") throw new Error(`the program has ended with ${String(started[0])}`);
  return {
    url: `http://127.0.0.1:${started[0].replace("listening on ", "")}`,
    stop: () => {
      program.kill("SIGTERM");
      return exited;
    },
  };
}
