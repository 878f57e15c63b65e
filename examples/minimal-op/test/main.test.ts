import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { readSettings } from "../src/settings.ts";
import { assertionOf, createClient, ISSUER, requestToken } from "./support.ts";

const EXAMPLE = fileURLToPath(new URL("..", import.meta.url));
const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));

test("the compiled program serves tokens with the keys of its schedule file, and ends by itself on SIGTERM", async () => {
  const client = await createClient();
  const folder = await mkdtemp(join(tmpdir(), "minimal-op-"));
  const [scheduleFile, clientsFile] = [join(folder, "schedule.json"), join(folder, "clients.json")];
  const moment = "2020-01-01T00:00:00Z";
  const keys = [{ uri: "local:", announcedFrom: moment, activeFrom: moment }];
  await writeFile(scheduleFile, JSON.stringify({ maxTokenLifetimeSeconds: 600, keys }));
  await writeFile(clientsFile, JSON.stringify({ rp: { jwks: client.jwks } }));
  await promisify(execFile)(process.execPath, [TSC, "-b", EXAMPLE]);

  const program = spawn(process.execPath, [join(EXAMPLE, "dist/main.js")], {
    env: {
      PATH: process.env["PATH"],
      ISSUER,
      PORT: "0",
      SCHEDULE_FILE: scheduleFile,
      CLIENTS_FILE: clientsFile,
      DRAIN_MS: "50",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(program, "exit");
  try {
    const [line] = (await once(createInterface(program.stdout), "line")) as [string];
    const url = `http://127.0.0.1:${line.replace("listening on ", "")}`;
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    expect((await requestToken(url, await assertionOf(client))).status).toBe(200);
  } finally {
    program.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    await rm(folder, { recursive: true });
  }
});

test("it does not start without its settings, nor with a port that is none", () => {
  expect(() => readSettings({ ISSUER })).toThrow("SCHEDULE_FILE is not set");
  expect(() => readSettings({ ISSUER, SCHEDULE_FILE: "a", CLIENTS_FILE: "b", PORT: "x" })).toThrow("PORT is no whole");
});
