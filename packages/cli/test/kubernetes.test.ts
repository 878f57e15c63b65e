import { expect, test } from "vitest";
import { createKeyFolder } from "./support/key-folder.ts";
import { ended, runCli, startCli } from "./support/run-cli.ts";

// `signpost kubernetes` runs the program of @signpost/kubernetes.

const CONFIG = {
  issuer: "https://kubernetes.default.svc",
  maxTokenLifetimeSeconds: 3600,
  keys: [{ keyId: "sa", uri: "local:" }],
};

test("--check opens the keys", async () => {
  await using folder = await createKeyFolder();
  await folder.write("kubernetes.json", { ...CONFIG, socket: { path: `${folder.path}/signer.sock` } });
  const { code, stdout, stderr } = await runCli(["kubernetes", "--config", "kubernetes.json", "--check"], {
    cwd: folder.path,
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(JSON.parse(stderr)).toMatchObject({ event: "checked", kid: "sa" });
});

test("a mistake in the configuration is code 2, with its place", async () => {
  await using folder = await createKeyFolder();
  await folder.write("kubernetes.json", { ...CONFIG, sockets: {} });
  const { code, stderr } = await runCli(["kubernetes", "--config", "kubernetes.json"], { cwd: folder.path });
  expect(code).toBe(2);
  expect(JSON.parse(stderr)).toMatchObject({
    event: "failed",
    message: "sockets: unknown option; did you mean socket?",
  });
});

test("serves until SIGTERM", async () => {
  await using folder = await createKeyFolder();
  await folder.write("kubernetes.json", { ...CONFIG, socket: { path: `${folder.path}/signer.sock` } });
  const child = startCli(["kubernetes", "--config", "kubernetes.json"], { cwd: folder.path });
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (log.includes('"event":"ready"')) resolve();
    });
    child.once("close", () => reject(new Error(log)));
  });
  child.kill("SIGTERM");
  await ended(child);
  expect(child.exitCode).toBe(143);
  expect(log).toContain('"event":"stopped"');
});
