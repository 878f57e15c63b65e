import { beforeEach, describe, expect, test } from "vitest";
import { type PendingCommand, PendingCommands } from "../src/pool/pending-commands.ts";

describe("the commands of a thread that have not returned", () => {
  const first: PendingCommand = { id: 7, late: true };
  const second: PendingCommand = { id: 8, late: false };
  const third: PendingCommand = { id: 9, late: false };
  let commands: PendingCommands<PendingCommand>;

  beforeEach(() => {
    commands = new PendingCommands();
    for (const command of [first, second, third]) commands.add(command);
  });

  test("stay in their order", () => {
    expect([...commands]).toEqual([first, second, third]);
    expect(commands.size).toBe(3);
  });

  test("are led by the first that was not given up on", () => {
    expect(commands.front).toBe(second);
    commands.take(8);
    expect(commands.front).toBe(third);
    commands.take(9);
    expect(commands.front).toBeUndefined();
  });

  test("are taken by their numbers, each once", () => {
    expect(commands.take(8)).toBe(second);
    expect(commands.take(8)).toBeUndefined();
    expect([...commands]).toEqual([first, third]);
  });

  test("are told apart by identity", () => {
    expect(commands.has(first)).toBe(true);
    expect(commands.has({ id: 7, late: true })).toBe(false);
  });

  test("can be taken while all of them are gone through", () => {
    const seen: number[] = [];
    for (const { id } of commands) {
      seen.push(id);
      commands.take(id);
    }
    expect(seen).toEqual([7, 8, 9]);
    expect(commands.size).toBe(0);
  });

  test("are gone together", () => {
    commands.clear();
    expect([...commands]).toEqual([]);
  });
});
