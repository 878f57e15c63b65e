import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import * as promises from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { pinFor } from "../src/request/pin-source.ts";
import { readPin } from "../src/request/pin.ts";
import { parsePkcs11Uri } from "../src/request/uri.ts";

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof promises>();
  return { ...real, stat: vi.fn<typeof promises.stat>(real.stat) };
});

const stat = vi.mocked(promises.stat);
const folder = mkdtempSync(join(tmpdir(), "signpost-pin-"));
afterEach(() => stat.mockReset());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a signer with this pin-source gets. */
const read = (source: string): Promise<string> =>
  readPin(pinFor(parsePkcs11Uri(`pkcs11:object=a?pin-source=${source}`), {}));

function written(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("a PIN in a file", () => {
  test.each<[what: string, content: string]>([
    ["as it is", "1234"],
    ["with a line end", "1234\n"],
    ["with a line end of Windows", "1234\r\n"],
    ["with a byte order mark, as some editors write one", "\uFEFF1234\r\n"],
  ])("is read %s", async (_what, content) => {
    const path = written("pin", content);
    for (const uri of [`file:${path}`, `file://${path}`, `FILE:${path}`, `file://localhost${path}`])
      expect(await read(uri)).toBe("1234");
  });

  test("is read at a path with spaces and non-ASCII letters", async () => {
    written("my p\u00EDn", "1234");
    expect(await read(`file:${folder}/my%20p%C3%ADn`)).toBe("1234");
  });

  test("is not read from a FIFO, a device or a folder, which may never end", async () => {
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    for (const path of [fifo, "/dev/zero", folder]) {
      await expect(read(`file:${path}`)).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "pin",
        message: expect.stringContaining(`pin-source file ${path}: expected a regular file`) as string,
      });
    }
  });

  test("that is not a PIN is reported with its file", async () => {
    for (const content of ["", "\n", "12\u00003", Buffer.from([0xff, 0xfe, 0x31, 0x00]), "x".repeat(5_000)]) {
      await expect(read(`file:${written("none", content)}`)).rejects.toMatchObject({
        name: "ConfigurationError",
        message: expect.stringContaining(join(folder, "none")) as string,
      });
    }
  });

  test("that is missing is unavailable, and the first line of the message names the file", async () => {
    const error: unknown = await read(`file:${folder}/missing`).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(String(error).split("\n")[0]).toContain(`pin-source file ${folder}/missing gave no PIN: ENOENT`);
  });

  test.each<[code: unknown, reason: string]>([
    ["EACCES", "EACCES"],
    ["EACCES 31415926", "it failed"],
    ["31415926", "it failed"],
    ["e31415926", "it failed"],
    [31_415_926, "it failed"],
    [`E${"1".repeat(30)}`, `E${"1".repeat(30)}`],
    [`E${"1".repeat(31)}`, "it failed"],
    ["E", "it failed"],
  ])("whose reader fails with the code %j says no more than a code of the system", async (code, reason) => {
    const failed = Object.assign(new Error("31415926"), { code });
    stat.mockRejectedValue(failed);
    const error: unknown = await read("file:/run/pin").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: `pin-source file /run/pin gave no PIN: ${reason}. It is asked again later`,
    });
  });

  test.each([
    "file:pin",
    "file:./pin",
    "file:",
    "file://host/pin",
    "file:///",
    "file://",
    "file:/pin?x",
    "file:/pin%23x",
    "file:/run%5Cpin",
    "file:/run/p%09in",
    "file:/run/pin%0A",
    "file:/run/pin%00",
    "file:/run/pin%20",
    "file:/run%252Fpin",
  ])("is no file at %s", async (source) => {
    expect(() => pinFor(parsePkcs11Uri(`pkcs11:?pin-source=${source}`), {})).toThrow(
      /^uri: pin-source: expected file:/,
    );
  });

  test.each(["file:/nowhere/pin,pin=31415926", "file:/nowhere/|pin=31415926", "file:/nowhere/,31415926"])(
    "gets into no error behind a wrong separator: %s",
    async (source) => {
      const pin = pinFor(parsePkcs11Uri(`pkcs11:object=a?pin-source=${source}`), {});
      const error: unknown = await readPin(pin).catch((reason: unknown) => reason);
      expect(inspect([error, pin.name], { depth: 20, showHidden: true })).not.toContain("31415926");
      expect(String(error)).toContain("ENOENT");
    },
  );

  test("counts as one source for all signers", () => {
    const [one, two] = ["/run/pin", "/run/pin"].map((path) =>
      pinFor(parsePkcs11Uri(`pkcs11:?pin-source=file:${path}`), {}),
    );
    expect(one?.identity).toBe(two?.identity);
  });

  test.each(["file:/run/", "vault:/"])("is forgotten after 256 others: %s", (prefix) => {
    const options = { pinSource: () => "1234" };
    const identity = (name: string): unknown =>
      pinFor(parsePkcs11Uri(`pkcs11:?pin-source=${prefix}${name}`), options).identity;
    const first = identity("first");
    for (let count = 0; count < 255; count += 1) identity(String(count));
    expect(identity("first")).toBe(first);
    identity("last");
    expect(identity("first")).not.toBe(first);
  });

  test("on a mount that hangs waits for its turn, two at a time, however many there are", async () => {
    const hung: (() => void)[] = [];
    const real = await vi.importActual<typeof promises>("node:fs/promises");
    stat.mockImplementation(async (path) => {
      await new Promise<void>((resolve) => hung.push(resolve));
      return real.stat(path);
    });
    const reads = ["1", "2", "3", "4", "5", "6"].map((name) => read(`file:${written(`turn-${name}`, name)}`));
    for (let done = 0; done < 6; done += 1) {
      await vi.waitFor(() => expect(hung.length).toBeGreaterThan(done));
      await new Promise((resolve) => setImmediate(resolve));
      expect(hung.length).toBeLessThanOrEqual(done + 2);
      hung[done]?.();
      await reads[done];
    }
    expect(await Promise.all(reads)).toEqual(["1", "2", "3", "4", "5", "6"]);
  });

  test("on a mount that hangs is read once at a time for a path, and two at a time in all", async () => {
    let goOn = (): void => {};
    const hanging = new Promise<void>((resolve) => (goOn = resolve));
    const real = await vi.importActual<typeof promises>("node:fs/promises");
    stat.mockImplementation(async (path) => (await hanging, real.stat(path)));
    const paths = ["a", "b", "c"].map((name) => written(name, name));
    const reads = [...paths, ...paths, ...paths].map((path) => read(`file:${path}`));
    await new Promise((resolve) => setImmediate(resolve));
    expect(stat).toHaveBeenCalledTimes(2);
    goOn();
    expect(await Promise.all(reads)).toEqual(["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
    expect(stat).toHaveBeenCalledTimes(3);
    // After it came back, the file is read again.
    writeFileSync(join(folder, "a"), "changed");
    expect(await read(`file:${folder}/a`)).toBe("changed");
  });
});
