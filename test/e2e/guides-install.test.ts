import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// A reader copies a snippet into a new project. What it imports has to be installed first.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const guides = readdirSync(join(ROOT, "docs")).filter((file) => file.endsWith(".md"));

/** A guide on the left continues the one on the right, which says what to install. */
const CONTINUES: Readonly<Record<string, string>> = {
  "azure-key-vault-production.md": "azure-key-vault.md",
  "concepts.md": "start.md",
  "gcp-kms-connections.md": "gcp-kms.md",
  "oidc-provider-failures.md": "oidc-provider.md",
  "oidc-provider-rs256.md": "oidc-provider.md",
  "pkcs11-modules.md": "pkcs11.md",
  "pkcs11-pins.md": "pkcs11.md",
  "pkcs11-threads.md": "pkcs11.md",
  "vault-transit-production.md": "vault-transit.md",
  "verify-errors.md": "verify.md",
};

/** From the README. In the examples, AWS KMS and the local key stand for any backend. */
const INSTALLED = ["@signpost/core", "@signpost/local", "@signpost/aws-kms", "@aws-sdk/client-kms"];

/** What the readers of a guide have before they look for Signpost, or choose with its help. */
const THEIRS: Readonly<Record<string, readonly string[]>> = {
  "choose-a-backend.md": [
    "@signpost/azure-key-vault",
    "@signpost/gcp-kms",
    "@signpost/pkcs11",
    "@signpost/vault-transit",
  ],
  "endpoint.md": ["express", "fastify", "hono"],
  "frameworks.md": ["@hono/node-server", "@nestjs/common", "@nestjs/core", "hono", "koa", "next"],
  "migrate.md": ["jose", "jsonwebtoken", "jwks-rsa", "oidc-provider"],
};

/** The packages that the code of a text imports. */
function importedIn(text: string): readonly string[] {
  const code = [...text.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block).join("\n");
  const names = [...code.matchAll(/\bfrom "([^".][^"]*)"/g)].map(([, name = ""]) => name);
  const packages = names.filter((name) => !name.startsWith("node:"));
  return [...new Set(packages.map((name) => (/^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [name])[0]))].toSorted();
}

/** The packages that a text says to install, with their versions if it names them. */
function installedIn(text: string): readonly string[] {
  const commands = [...text.matchAll(/npm install ((?:(?!#)[^`\n])+)/g)].map(([, command = ""]) => command);
  return commands.flatMap((command) => command.trim().split(/\s+/)).filter((word) => !word.startsWith("-"));
}

const nameOf = (wanted: string): string => wanted.replace(/(?<=.)@.*/, "");

test("every guide says how to install what its code imports", () => {
  const missing = guides.flatMap((guide) => {
    const parent = CONTINUES[guide];
    const installed = [guide, ...(parent === undefined ? [] : [parent])]
      .flatMap((file) => installedIn(read(`docs/${file}`)))
      .map(nameOf);
    const known = new Set([...installed, ...INSTALLED, ...(THEIRS[guide] ?? [])]);
    return importedIn(read(`docs/${guide}`))
      .filter((name) => !known.has(name))
      .map((name) => `${guide}: ${name}`);
  });
  expect(missing).toEqual([]);
});

test("a guide links the guide that it continues", () => {
  const unlinked = Object.entries(CONTINUES).filter(
    ([guide, parent]) => !read(`docs/${guide}`).includes(`](${parent}`),
  );
  expect(unlinked).toEqual([]);
});

test("the versions that a guide tells to install are those of the examples", () => {
  const pinned = guides.flatMap((guide) => installedIn(read(`docs/${guide}`)).filter((word) => /.@/.test(word)));
  const examples = readdirSync(join(ROOT, "examples")).filter((name) => name !== "nginx");
  const used = examples.flatMap((name) => {
    const manifest = JSON.parse(read(`examples/${name}/package.json`)) as { dependencies?: Record<string, string> };
    return Object.entries(manifest.dependencies ?? {}).map(([dependency, version]) => `${dependency}@${version}`);
  });
  expect(pinned.length).toBeGreaterThan(3);
  expect(pinned.filter((word) => !used.includes(word))).toEqual([]);
});

test("the recipe for an image names what each example needs, and each of these examples links it", () => {
  const hosts = read("docs/hosts.md");
  const rows = [...hosts.matchAll(/^\| \[([\w-]+)\]\(\.\.\/examples\/\1\) \| `([^`]+)` \| `([^`]+)` \|$/gm)];
  const told = rows.map(([, name = "", ours = "", others = ""]) => ({
    name,
    needs: [...ours.split(" ").map((each) => `@signpost/${each}`), ...others.split(" ")].toSorted(),
  }));
  expect(told.map(({ name }) => name)).toEqual(["azure-container-apps", "gcp-cloud-run", "minimal-op"]);
  for (const { name, needs } of told) {
    const manifest = JSON.parse(read(`examples/${name}/package.json`)) as { dependencies: Record<string, string> };
    expect(needs).toEqual(Object.keys(manifest.dependencies).toSorted());
  }
  for (const name of ["azure-container-apps", "gcp-cloud-run", "kubernetes"])
    expect(read(`examples/${name}/README.md`)).toContain("(../../docs/hosts.md#an-image-of-an-example)");
});
