import { execFile } from "node:child_process";
import { once } from "node:events";
import { lstat, readFile, rm, symlink } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { runApp } from "../support/run-app.ts";
import { runCli, type CliResult } from "../support/run-cli.ts";
import { runOnTerminal } from "../support/terminal.ts";

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
});
afterAll(() => folder[Symbol.asyncDispose]());

test("a local key is measured against node:crypto, with figures for programs and a picture", async () => {
  const args = ["bench", "local:op.pem", "--calls", "60", "--concurrency", "1,2", "--raw", "--json", "--svg", "a.svg"];
  const { code, stdout, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ ok: true, uri: "local:op.pem", wasStopped: false, billed: null });
  expect(report.levels.map(({ concurrency }: { concurrency: number }) => concurrency)).toEqual([1, 2]);
  for (const { signpost, raw, added } of report.levels) {
    expect(signpost).toMatchObject({ signatures: 60, failures: 0, errors: {}, repeats: 0 });
    expect(raw).toMatchObject({ name: "bare node:crypto", signatures: 60, failures: 0 });
    expect(signpost.ms.min).toBeLessThanOrEqual(signpost.ms.p50);
    expect(signpost.ms.p50).toBeLessThanOrEqual(signpost.ms.max);
    expect(signpost.ms["p99.9"]).toBeNull();
    expect(added.addedMs.p50).toBeCloseTo(signpost.ms.p50 - raw.ms.p50, 3);
    expect(added.ratio.p50).toBeCloseTo(signpost.ms.p50 / raw.ms.p50, 3);
  }
  expect(await readFile(join(folder.path, "a.svg"), "utf8")).toMatch(/^<svg [^]*<\/svg>\n$/);
});

test("Ctrl-C ends it, and what was measured until then is printed", async () => {
  const args = ["bench", "local:op.pem", "--concurrency", "1", "--duration", "300"];
  // It says so as soon as something was measured.
  const { code, shown } = await runOnTerminal(
    args,
    { question: "Signing, 1 at once: ", answer: "\u0003" },
    { cwd: folder.path },
  );
  expect(code).toBe(130);
  expect(shown).toMatch(/at once +p50[^]*1 {2}signpost +[\d.]+ [mµ]?s[^]*Stopped: this is what was measured/);
});

describe("before calls that are billed", () => {
  const uri = "awskms://127.0.0.1:9/alias/op?region=eu-west-1";
  const question = "AWS KMS bills up to 3,023 calls. Make them?";

  test("without a terminal, --yes is needed", async () => {
    const { code, stdout, stderr } = await runApp(["bench", uri, "--raw"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("AWS KMS bills up to 6,044 calls, and there is no terminal to ask");
    expect(stderr).toContain("--yes");
  });

  test("a person is asked, and no is no", async () => {
    const { code, shown } = await runOnTerminal(["bench", uri], { question, answer: "n" }, {});
    expect(code).toBe(2);
    expect(shown).toContain("Nothing was signed, as you asked");
  });

  test("after a yes the key is opened, and Ctrl-C while it opens ends the command", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    silent.on("connection", (socket) => socket.on("error", () => undefined));
    const env = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
    const there = `awskms://127.0.0.1:${port}/alias/op?region=eu-west-1`;
    const typed = [
      { question, answer: "y" },
      { question: "Opening the key", answer: "\u0003" },
    ];
    const { code } = await runOnTerminal(["bench", there], typed, { env });
    silent.close();
    expect(code).toBe(130);
  });
});

describe("mistakes are found before anything is signed", () => {
  test.each([
    [["--concurrency", "0"], "expected at most 10 different whole numbers"],
    [["--concurrency", "4,4"], "expected at most 10 different whole numbers"],
    [["--calls", "0"], "expected a whole number"],
    [["--duration", "0"], "expected seconds"],
    [["--duration", "99999"], "expected seconds"],
    [["--svg", "op.pem"], "op.pem exists, and signpost did not write it"],
    [["--svg", "away/a.svg"], "away/a.svg: cannot be written (ENOENT)"],
  ])("%s", async (flags, message) => {
    const { code, stdout, stderr } = await runApp(["bench", "local:op.pem", ...flags], { cwd: folder.path });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  test("a key that is not there", async () => {
    expect(await runApp(["bench", "local:away.pem"], { cwd: folder.path })).toMatchObject({ code: 2, stdout: "" });
  });
});

test("figures are printed although the picture cannot be written, and are not ok", async () => {
  // Too long for the name under which it is written first.
  const name = `${"a".repeat(250)}.svg`;
  const args = ["bench", "local:", "--calls", "5", "--concurrency", "1", "--svg", name, "--json"];
  const { code, stdout } = await runApp(args, { cwd: folder.path });
  expect({ code, report: JSON.parse(stdout) }).toMatchObject({
    code: 2,
    report: { ok: false, error: { code: "file_unwritable" }, levels: [{ signpost: { signatures: 5 } }] },
  });
});

test("nothing but a file is read or replaced, and a link to a picture stays", async () => {
  const bench = (name: string): Promise<CliResult> =>
    runApp(["bench", "local:", "--calls", "5", "--concurrency", "1", "--svg", name], { cwd: folder.path });
  const path = (name: string): string => join(folder.path, name);
  await promisify(execFile)("mkfifo", [path("fifo")]);
  for (const name of ["fifo", "/dev/zero", "."]) {
    expect(await bench(name)).toMatchObject({ code: 2, stderr: expect.stringContaining("signpost did not write it") });
  }
  expect(await bench("real.svg")).toMatchObject({ code: 0 });
  await symlink("real.svg", path("link.svg"));
  const before = await readFile(path("real.svg"), "utf8");
  expect(await bench("link.svg")).toMatchObject({ code: 0 });
  expect((await lstat(path("link.svg"))).isSymbolicLink()).toBe(true);
  expect(await readFile(path("real.svg"), "utf8")).not.toBe(before);
  await rm(path("real.svg"));
  expect(await bench("link.svg")).toMatchObject({ code: 2, stderr: expect.stringContaining("ENOENT") });
});

test("a picture of this command is replaced by the next one", async () => {
  const args = ["bench", "local:", "--calls", "5", "--concurrency", "1", "--svg", "again.svg"];
  expect(await runApp(args, { cwd: folder.path })).toMatchObject({ code: 0 });
  expect(await runApp(args, { cwd: folder.path })).toMatchObject({ code: 0 });
  await rm(join(folder.path, "again.svg"));
});

test("--raw measures no call with other credentials than the adapter", async () => {
  const adapters = "{ awskms: { api: { getPublicKey() {}, sign() {} } } }";
  await folder.write("own.mjs", `export default { issuer: "https://op.example", keys: [], adapters: ${adapters} };`);
  const args = ["bench", "awskms:///alias/op", "--raw", "--yes", "--config", "own.mjs"];
  expect(await runApp(args, { cwd: folder.path })).toEqual({
    code: 2,
    stdout: "",
    stderr: "error --raw cannot use the option api of the adapter\nhint  Leave --raw out\n",
  });
});
