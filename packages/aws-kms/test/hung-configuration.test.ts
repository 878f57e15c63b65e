import { execFileSync } from "node:child_process";
import { constants, mkdtempSync, openSync, closeSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { provideCredentials } from "./environment.ts";

let folder: string;
let pipe: string;

beforeEach(() => {
  provideCredentials({ accessKeyId: "AKIA1", secretAccessKey: "secret-1" });
  folder = mkdtempSync(join(tmpdir(), "aws-hung-"));
  pipe = join(folder, "config");
  execFileSync("mkfifo", [pipe]);
  process.env["AWS_CONFIG_FILE"] = pipe;
});
afterEach(() => {
  // Lets the reader go, which would keep a thread of the process.
  closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK));
  rmSync(folder, { recursive: true });
});

const open = (options: object) =>
  openAwsKmsSigner({ key: "alias/op-2026", endpoint: "http://127.0.0.1:1", ...options });

test("a configuration file that hangs is waited for no longer than the opening's deadline", async () => {
  await expect(open({ openDeadlineMs: 200 })).rejects.toMatchObject({
    code: "timeout",
    message: "awskms://127.0.0.1:1/alias/op-2026: not opened within the deadline of 200 ms",
    uri: "awskms://127.0.0.1:1/alias/op-2026",
  });
}, 2000);

test("nor after the caller has given up", async () => {
  await expect(open({ signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ name: "SignerError" });
}, 2000);
