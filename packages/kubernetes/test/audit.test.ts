import { appendFile, mkdir, readFile, rename, stat, symlink } from "node:fs/promises";
import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { auditLine, openAudit } from "../src/program/audit.ts";
import { callReporter } from "../src/program/calls.ts";
import { createLineWriter } from "../src/program/line-writer.ts";
import { createCounters, exposition } from "../src/program/metrics.ts";
import { outcomeOf } from "../src/service/outcome.ts";
import { privateFolder } from "./support/private-folder.ts";

// What an audit line may contain, and what happens if it cannot be written.

const SIGNED = { version: "v1", method: "Sign", code: "ok", ms: 1, jti: "1", sub: "a", kid: "sa" } as const;

test("a line keeps to one line, whatever the claims contain, and to a length", () => {
  const sub = `a\nb"\u2028${"c".repeat(1000)}\uD800`;
  const line = auditLine({ ...SIGNED, sub }, new Date(0));
  expect(line).not.toContain("\n");
  expect(line.length).toBeLessThan(600);
  expect(JSON.parse(line)).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    jti: "1",
    sub: sub.slice(0, 400),
    kid: "sa",
    code: "ok",
  });
});

test("lines that are written at the same time do not mix, and a reopening loses none", async () => {
  await using folder = await privateFolder();
  const path = folder.at("audit.log");
  const audit = await openAudit(path);
  const writes = Array.from({ length: 500 }, (_, index) => audit.write(`line ${index} ${"x".repeat(200)}`));
  await audit.reopen();
  await Promise.all(writes);
  await audit.close();
  const lines = (await readFile(path, "utf8")).trim().split("\n");
  expect(lines.map((line) => line.split(" ")[1])).toEqual(Array.from({ length: 500 }, (_, index) => String(index)));
});

test("a reopening does not wait for a pause in the writing", async () => {
  await using folder = await privateFolder();
  const audit = await openAudit(folder.at("audit.log"));
  let isOver = false;
  const keepWriting = async (): Promise<void> => {
    while (!isOver) await audit.write("line");
  };
  const writers = [keepWriting(), keepWriting(), keepWriting(), keepWriting()];
  await expect(audit.reopen()).resolves.toBeUndefined();
  isOver = true;
  await Promise.all(writers);
  await audit.close();
});

test("after a disk that took a part of a line, the next line begins on its own", async () => {
  await using folder = await privateFolder();
  const path = folder.at("audit.log");
  let free = 7;
  const lines = createLineWriter({
    write: async (bytes: Uint8Array) => {
      if (free === 0) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      const taken = bytes.subarray(0, free);
      await appendFile(path, taken);
      free -= taken.length;
      return { bytesWritten: taken.length, buffer: bytes };
    },
    close: () => Promise.resolve(),
  } as Parameters<typeof createLineWriter>[0]);
  await lines.write("one");
  await expect(lines.write("second")).rejects.toMatchObject({ code: "audit_failed" });
  await expect(lines.write("third")).rejects.toMatchObject({ code: "audit_failed" });
  free = 100;
  await Promise.all([lines.write("fourth"), lines.write("fifth")]);
  expect(await readFile(path, "utf8")).toBe("one\nsec\nfourth\nfifth\n");
});

test("a line that cannot be written keeps the token from leaving, as UNAVAILABLE, and is counted and logged", async () => {
  await using folder = await privateFolder();
  const audit = await openAudit(folder.at("audit.log"));
  await audit.close();
  const counters = createCounters();
  const events: string[] = [];
  const report = callReporter(counters, audit, (_level, event) => void events.push(event));
  const failure: unknown = await report(SIGNED).catch((error: unknown) => error);
  expect(outcomeOf(failure)).toEqual({ code: "audit_failed", status: status.UNAVAILABLE });
  expect(events).toEqual(["audit_failed"]);
  const counted = exposition(counters.samples());
  expect(counted).toContain('{method="Sign",version="v1",code="audit_failed"} 1');
  expect(counted).not.toContain('code="ok"');
});

test.each([
  ["a link", (folder: string) => symlink("/dev/null", `${folder}/link`), "link"],
  ["a folder", (folder: string) => mkdir(`${folder}/dir`), "dir"],
])("%s is refused", async (_what, make, name) => {
  await using folder = await privateFolder();
  await make(folder.path);
  await expect(openAudit(folder.at(name))).rejects.toThrow(/^audit: /);
});

describe("lines that are written", () => {
  type File = Parameters<typeof createLineWriter>[0];
  /** A file that takes what `take` says of each write. */
  function fileThat(take: (bytes: Uint8Array) => Promise<number> | number) {
    const writes: string[] = [];
    let closed = 0;
    const file = {
      write: async (bytes: Uint8Array) => {
        const bytesWritten = await take(bytes);
        writes.push(Buffer.from(bytes.subarray(0, bytesWritten)).toString());
        return { bytesWritten, buffer: bytes };
      },
      close: async () => void (closed += 1),
    } as unknown as File;
    return { lines: createLineWriter(file), writes, closed: () => closed };
  }

  test("while another one is being written wait, and are one write", async () => {
    const { lines, writes } = fileThat(async (bytes) => bytes.length);
    await Promise.all(["a", "b", "c"].map((line) => lines.write(line)));
    await lines.write("d");
    expect(writes).toEqual(["a\n", "b\nc\n", "d\n"]);
  });

  test("are continued until the file has them", async () => {
    const { lines, writes } = fileThat(() => 2);
    await lines.write("abcde");
    expect(writes).toEqual(["ab", "cd", "e\n"]);
  });

  test("by a file that takes nothing fail, with the reason as the cause", async () => {
    const { lines } = fileThat(() => 0);
    await expect(lines.write("a")).rejects.toMatchObject({
      code: "audit_failed",
      message: "the audit line could not be written",
      cause: { message: "the file takes no more" },
    });
  });

  test("are done before the file is closed", async () => {
    let finish = (): void => undefined;
    const isFree = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { lines, closed } = fileThat(async (bytes) => {
      await isFree;
      return bytes.length;
    });
    const written = lines.write("a");
    const ending = lines.close();
    await new Promise(setImmediate);
    expect(closed()).toBe(0);
    finish();
    await Promise.all([written, ending]);
    expect(closed()).toBe(1);
  });
});

test("a file is only appended to, and only its user can read it", async () => {
  await using folder = await privateFolder();
  const path = await folder.write("audit.log", "before\n");
  const audit = await openAudit(path);
  await audit.write("after");
  await audit.close();
  expect(await readFile(path, "utf8")).toBe("before\nafter\n");
  const other = await openAudit(folder.at("new.log"));
  await other.close();
  expect((await stat(folder.at("new.log"))).mode & 0o777).toBe(0o600);
});

test("a file that cannot be opened has the code of the system, and stays the one before", async () => {
  await using folder = await privateFolder();
  await mkdir(folder.at("logs"));
  const audit = await openAudit(folder.at("logs/audit.log"));
  await rename(folder.at("logs"), folder.at("moved"));
  await expect(audit.reopen()).rejects.toThrow("audit: the file cannot be opened (ENOENT)");
  await audit.write("line");
  await audit.close();
  expect(await readFile(folder.at("moved/audit.log"), "utf8")).toBe("line\n");
});
