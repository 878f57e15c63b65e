import { createRequire } from "node:module";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadingFailure } from "../src/cryptoki/binding.ts";

/** What `require` throws for a file with this content. */
function failureOf(name: string, content: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "signpost-binding-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), content);
  try {
    return createRequire(join(folder, "here.js"))(`./${name}`) as unknown;
  } catch (error) {
    return error;
  }
}

test("pkcs11js without its native part is not built", () => {
  const error = failureOf("index.js", 'require("./build/Release/pkcs11.node")');
  expect(loadingFailure(error)).toMatch(/^pkcs11js is not installed or not built\. .*allowBuilds/);
});

test("pkcs11js with a native part that this machine cannot load says what the loader said", () => {
  const error = failureOf("pkcs11.node", "built for another machine");
  expect(loadingFailure(error)).toMatch(
    /^expected pkcs11js to load, but it failed with ".*pkcs11\.node: .+"\. Build its/,
  );
  expect(loadingFailure(error)).not.toContain("not installed");
});
