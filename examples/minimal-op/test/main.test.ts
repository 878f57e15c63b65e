import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { readSettings } from "../src/settings.ts";
import { filesFor, startProgram } from "./program.ts";
import { assertionOf, createClient, ISSUER, requestToken } from "./support.ts";

test("the compiled program serves tokens with the keys of its schedule file, and exits on SIGTERM", async () => {
  const client = await createClient();
  const program = await startProgram(filesFor(client));
  try {
    expect((await fetch(`${program.url}/ready`)).status).toBe(200);
    expect((await requestToken(program.url, await assertionOf(client))).status).toBe(200);
  } finally {
    expect(await program.stop()).toEqual([0, null]);
  }
});

test("the README's two files are enough to start it", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [schedule = "", clients = ""] = [...readme.matchAll(/```json\n([^]*?)```/g)].map(([, block]) => block);
  const [, command = ""] = /```sh\ncd examples\/minimal-op\n(.*)\n```/.exec(readme) ?? [];
  expect(command).toMatch(/^ISSUER=\S+ SCHEDULE_FILE=schedule\.json CLIENTS_FILE=clients\.json node dist\/main\.js$/);
  const program = await startProgram({ schedule, clients });
  try {
    expect((await fetch(`${program.url}/ready`)).status).toBe(200);
  } finally {
    expect(await program.stop()).toEqual([0, null]);
  }
});

test("an empty variable, as deployment tools set it, counts as not set", () => {
  const env = { ISSUER, SCHEDULE_FILE: "a", CLIENTS_FILE: "b" };
  expect(readSettings({ ...env, PORT: "", REDIS_URL: "", DRAIN_MS: "" })).toEqual(readSettings(env));
});

test("it does not start without its settings, or with a port that is not a number", () => {
  expect(() => readSettings({ ISSUER })).toThrow("SCHEDULE_FILE is not set");
  expect(() => readSettings({ ISSUER, SCHEDULE_FILE: "a", CLIENTS_FILE: "b", PORT: "x" })).toThrow(
    "PORT is not a whole number: x",
  );
});

test("a Redis URL that is none is refused without a word of it, since it has a password", () => {
  const env = { ISSUER, SCHEDULE_FILE: "a", CLIENTS_FILE: "b" };
  for (const REDIS_URL of ["redis://:s3cret/word@redis:6379", "redis://:s3cret#word@redis:6379", "s3cret"]) {
    let failure: unknown;
    try {
      readSettings({ ...env, REDIS_URL });
    } catch (error) {
      failure = error;
    }
    expect(inspect(failure)).toContain("REDIS_URL is no URL");
    expect(inspect(failure)).not.toContain("s3cret");
  }
  const REDIS_URL = "redis://:s3cret%2Fword@redis:6379";
  expect(readSettings({ ...env, REDIS_URL }).redisUrl).toBe(REDIS_URL);
});
