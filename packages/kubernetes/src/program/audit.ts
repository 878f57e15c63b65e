import { constants, type FileHandle, open } from "node:fs/promises";
import { ConfigurationError } from "@signpost/core";
import type { CallReport } from "../service/events.ts";
import { createLineWriter, failed } from "./line-writer.ts";

/** Where a line is written for each token. */
export interface Audit {
  /** Resolves when the line is written. Rejects with `audit_failed`. */
  write(line: string): Promise<void>;
  /** Opens the file again, after it was moved away. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Longer than the name of any ServiceAccount (253 and 63 characters) or id of a token. */
const MAX_TEXT = 400;

/** The line of a token: when, which, by which key, and how it ended. Nothing else of its claims. */
export function auditLine({ jti, sub, kid, code }: CallReport, time: Date): string {
  return JSON.stringify({ time: time.toISOString(), jti: cut(jti), sub: cut(sub), kid, code });
}

function cut(text: string | undefined): string | undefined {
  return text?.slice(0, MAX_TEXT).toWellFormed();
}

/** `-` for stdout, otherwise the path of a file that is only appended to. */
export async function openAudit(place: string): Promise<Audit> {
  return place === "-" ? toStdout() : toFile(place);
}

function toStdout(): Audit {
  // The callback of each write gets the error too. Without a listener, it would end the process.
  const ignore = (): void => undefined;
  process.stdout.on("error", ignore);
  const write = (line: string): Promise<void> =>
    new Promise((resolve, reject) => {
      process.stdout.write(`${line}\n`, (error) => (error instanceof Error ? reject(failed(error)) : resolve()));
    });
  return {
    write,
    reopen: () => Promise.resolve(),
    close: async () => void process.stdout.off("error", ignore),
  };
}

async function toFile(path: string): Promise<Audit> {
  let lines = createLineWriter(await openFile(path));
  return {
    write: (line) => lines.write(line),
    async reopen() {
      const before = lines;
      lines = createLineWriter(await openFile(path));
      await before.close();
    },
    close: () => lines.close(),
  };
}

/** A link or a FIFO in its place could send the lines elsewhere, or stop the signer. */
async function openFile(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
  try {
    const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (cause) {
    const code = String(Reflect.get(Object(cause), "code"));
    throw new ConfigurationError("audit", `the file cannot be opened (${code})`, { cause });
  }
  throw new ConfigurationError("audit", "expected a regular file, not a FIFO, device or folder");
}
