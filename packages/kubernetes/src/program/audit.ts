import { constants, open, type FileHandle } from "node:fs/promises";
import { ConfigurationError, SignpostError } from "@signpost/core";
import type { CallReport } from "../service/events.ts";

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
  const write = (line: string): Promise<void> =>
    new Promise((resolve, reject) => {
      process.stdout.write(`${line}\n`, (error) => (error instanceof Error ? reject(failed(error)) : resolve()));
    });
  return { write, reopen: () => Promise.resolve(), close: () => Promise.resolve() };
}

async function toFile(path: string): Promise<Audit> {
  let file = await openFile(path);
  let waiting: { readonly line: string; readonly done: (error: SignpostError | undefined) => void }[] = [];
  let writing: Promise<void> | undefined;

  /** Many lines in one write, and one write after the other, so that no two lines are mixed. */
  const drain = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const error = await file.appendFile(batch.map(({ line }) => `${line}\n`).join("")).then(
        () => undefined,
        (cause: unknown) => failed(cause),
      );
      for (const { done } of batch) done(error);
    }
    writing = undefined;
  };

  return {
    write: (line) =>
      new Promise((resolve, reject) => {
        waiting.push({ line, done: (error) => (error === undefined ? resolve() : reject(error)) });
        writing ??= drain();
      }),
    async reopen() {
      const next = await openFile(path);
      const before = file;
      file = next;
      await writing;
      await before.close();
    },
    async close() {
      await writing;
      await file.close();
    },
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

function failed(cause: unknown): SignpostError {
  return new SignpostError("audit_failed", "the audit line could not be written", { cause });
}
