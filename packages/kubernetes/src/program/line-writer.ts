import type { FileHandle } from "node:fs/promises";
import { SignpostError } from "@signpost/core";

/** Appends lines to a file. */
export interface LineWriter {
  /** Resolves when the line is written. Rejects with `audit_failed`. */
  write(line: string): Promise<void>;
  /** Writes the lines that wait, and closes the file. */
  close(): Promise<void>;
}

interface Waiting {
  readonly line: string;
  readonly done: (error: SignpostError | undefined) => void;
}

const NEWLINE = 0x0a;

/** Many lines in one write, and one write after the other, so that no two lines are mixed. */
export function createLineWriter(file: Pick<FileHandle, "close" | "write">): LineWriter {
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  /** A disk that was full may have taken a part of a line. The next line must not continue it. */
  let isTorn = false;

  const append = async (text: string): Promise<void> => {
    let rest: Uint8Array = Buffer.from(isTorn ? `\n${text}` : text);
    while (rest.length > 0) {
      const { bytesWritten } = await file.write(rest);
      if (bytesWritten === 0) throw new Error("the file takes no more");
      isTorn = rest[bytesWritten - 1] !== NEWLINE;
      rest = rest.subarray(bytesWritten);
    }
  };

  const drain = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const error = await append(batch.map(({ line }) => `${line}\n`).join("")).then(
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
    async close() {
      await writing;
      await file.close();
    },
  };
}

/** What keeps a token from leaving. */
export function failed(cause: unknown): SignpostError {
  return new SignpostError("audit_failed", "the audit line could not be written", { cause });
}
