import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createKeyFolder } from "../support/key-folder.ts";
import { ended, startCli } from "../support/run-cli.ts";

const FILE = fileURLToPath(new URL("../transcripts/serve.ansi", import.meta.url));
const COLUMNS = 100;

test("for people, it prints its addresses, and a line for each event", async () => {
  await using folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  const second = { keyId: "sig-2026-01", publicKey: await folder.addKey("old.pem") };
  const config = (first: object): object => ({ issuer: "https://op.example", keys: [first, second] });
  await folder.write("signpost.config.json", config({ keyId: "sig-2026-07", signer: "local:op.pem" }));
  const args = ["serve", "--port", "0", "--admin-port", "0"];
  const child = startCli(args, { cwd: folder.path, env: { FORCE_COLOR: "1" } });
  let shown = "";
  const until = async (words: string): Promise<void> => {
    await expect.poll(() => shown, { timeout: 20_000 }).toContain(words);
  };
  child.stderr.on("data", (chunk) => {
    shown += String(chunk);
  });
  const addresses = text(child.stdout);
  await until("publishes");
  await folder.write("signpost.config.json", config({ keyid: "sig-2026-07", signer: "local:op.pem" }));
  await until("did you mean");
  child.kill("SIGINT");
  await ended(child);
  const printed = `${await addresses}${shown}`
    .replace(/127\.0\.0\.1:\d+(?=\/jwks)/g, "127.0.0.1:8080")
    .replace(/127\.0\.0\.1:\d+(?=\/\n)/, "127.0.0.1:8081")
    .replace(/\d\d:\d\d:\d\dZ/g, "08:00:00Z");
  await expect(`$ signpost serve\n${wrapped(printed)}`).toMatchFileSnapshot(FILE);
  expect(child.exitCode).toBe(130);
});

/** As a terminal shows lines that are too long for it. */
function wrapped(printed: string): string {
  // Escape sequences have no width.
  const column = new RegExp(`((?:(?:\\u001B\\[\\d+m)*[^\\n\\u001B]){${COLUMNS}})(?=[^\\n])`, "gu");
  return printed.replace(column, "$1\n");
}
