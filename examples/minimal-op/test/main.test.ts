import { expect, test } from "vitest";
import { readSettings } from "../src/settings.ts";
import { startProgram } from "./program.ts";
import { assertionOf, createClient, ISSUER, requestToken } from "./support.ts";

test("the compiled program serves tokens with the keys of its schedule file, and ends by itself on SIGTERM", async () => {
  const client = await createClient();
  const program = await startProgram(client);
  try {
    expect((await fetch(`${program.url}/ready`)).status).toBe(200);
    expect((await requestToken(program.url, await assertionOf(client))).status).toBe(200);
  } finally {
    expect(await program.stop()).toEqual([0, null]);
  }
});

test("it does not start without its settings, nor with a port that is none", () => {
  expect(() => readSettings({ ISSUER })).toThrow("SCHEDULE_FILE is not set");
  expect(() => readSettings({ ISSUER, SCHEDULE_FILE: "a", CLIENTS_FILE: "b", PORT: "x" })).toThrow("PORT is no whole");
});
