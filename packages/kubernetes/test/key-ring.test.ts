import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createKeyRing, type OpenKey } from "../src/keys/key-ring.ts";

// Which keys are opened, kept and closed.

const local = await openLocalSigner();

describe("open keys", () => {
  function ring(close: (uri: string) => Promise<void> = async () => undefined) {
    const opened: unknown[] = [];
    const closed: string[] = [];
    const signal = new AbortController().signal;
    let isAway = false;
    const open: OpenKey = async (...given) => {
      opened.push(given);
      await Promise.resolve();
      if (isAway) throw new SignerError("unavailable", "away");
      const [uri] = given;
      return { ...local, uri, close: () => (closed.push(uri), close(uri)) };
    };
    const setAway = (away: boolean): void => void (isAway = away);
    return { keys: createKeyRing(open, signal), opened, closed, signal, setAway };
  }

  test("are opened once, also while they are being opened, with the options and the signal", async () => {
    const { keys, opened, signal } = ring();
    const options = { local: { a: 1 } };
    const [first, second] = await Promise.all([keys.open("local:a", options), keys.open("local:a", options)]);
    expect(second).toBe(first);
    expect(await keys.open("local:a", { local: { a: 1 }, vault: {} })).toBe(first);
    expect(opened).toEqual([["local:a", options, signal]]);
  });

  test("are others with another URI, or with other options of their adapter", async () => {
    const { keys, opened } = ring();
    const first = await keys.open("local:a", {});
    expect(await keys.open("local:b", {})).not.toBe(first);
    expect(await keys.open("local:a", { local: { a: 1 } })).not.toBe(first);
    expect(await keys.open("local:a", { local: {} })).toBe(first);
    expect(opened).toHaveLength(3);
  });

  test("are found only when they are open", async () => {
    const { keys } = ring();
    const opening = keys.open("local:a", {});
    expect(keys.find("local:a", {})).toBeUndefined();
    const key = await opening;
    expect(keys.find("local:a", {})).toBe(key);
    expect(keys.find("local:a", { local: { a: 1 } })).toBeUndefined();
  });

  test("that could not be opened are tried again", async () => {
    const { keys, setAway } = ring();
    setAway(true);
    await expect(keys.open("local:a", {})).rejects.toThrow("away");
    expect(keys.find("local:a", {})).toBeUndefined();
    setAway(false);
    expect((await keys.open("local:a", {})).uri).toBe("local:a");
  });

  test("are closed unless they are kept, and are opened again after that", async () => {
    const { keys, opened, closed } = ring();
    const [first, second] = [await keys.open("local:a", {}), await keys.open("local:b", {})];
    expect(await keys.keepOnly(new Set([second]))).toEqual([]);
    expect(closed).toEqual(["local:a"]);
    expect(keys.find("local:b", {})).toBe(second);
    expect(await keys.open("local:a", {})).not.toBe(first);
    expect(opened).toHaveLength(3);
  });

  test("that cannot be closed give their errors, and the others are closed", async () => {
    const failure = new SignerError("unavailable", "gone");
    const { keys, closed } = ring((uri) => (uri === "local:a" ? Promise.reject(failure) : Promise.resolve()));
    await keys.open("local:a", {});
    await keys.open("local:b", {});
    expect(await keys.keepOnly(new Set())).toEqual([failure]);
    expect(closed).toEqual(["local:a", "local:b"]);
  });
});
