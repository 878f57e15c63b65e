import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { countLines } from "./support/recipe.ts";

// The page of hosts names the versions that the tests run.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const page = read("docs/hosts.md");

/** The exact version that a manifest pins, also under an alias. */
function pinned(manifest: string, dependency: string): string {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(read(`${manifest}package.json`)) as {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  const version = { ...dependencies, ...devDependencies }[dependency];
  return version?.replace(/^npm:.*@/, "").replace(/^\^/, "") ?? `no ${dependency}`;
}

const OLDEST = "test/oldest-hosts/";

test.each([
  ["oidc-provider", pinned("packages/oidc-provider/", "oidc-provider-9.11"), pinned("", "oidc-provider")],
  [
    "better-auth, `jwt()`",
    pinned("packages/better-auth/", "better-auth-1.7.0"),
    pinned("packages/better-auth/", "better-auth-1.7.25"),
  ],
  ["openid-client", pinned("", "openid-client-6.1.1"), pinned("", "openid-client")],
  ["oauth4webapi", pinned("", "oauth4webapi-3.0.0"), pinned("", "oauth4webapi")],
  ["`@sd-jwt/sd-jwt-vc`", pinned("", "sd-jwt-vc-0.4.0"), pinned("", "@sd-jwt/sd-jwt-vc")],
  ["`@openid4vc/oauth2`", pinned("", "openid4vc-oauth2-0.2.0"), pinned("", "@openid4vc/oauth2")],
  ["`@openid4vc/openid4vci`", pinned("", "openid4vci-0.4.2"), pinned("", "@openid4vc/openid4vci")],
  ["`@credo-ts/core`", pinned("", "credo-ts-core-0.6.1"), pinned("", "@credo-ts/core")],
  ["`@openid-federation/core`", pinned("", "openid-federation-core-0.2.0"), pinned("", "@openid-federation/core")],
  ["Express", pinned(OLDEST, "express"), pinned("", "express")],
  ["Fastify", pinned(OLDEST, "fastify"), pinned("", "fastify")],
  ["Koa", pinned(OLDEST, "koa"), pinned("", "koa")],
  ["NestJS on Express", pinned(OLDEST, "@nestjs/core"), pinned("", "@nestjs/core")],
  [
    "NestJS on Fastify",
    pinned(OLDEST, "@nestjs/platform-fastify"),
    pinned("examples/nestjs/", "@nestjs/platform-fastify"),
  ],
  ["Hono, with `@hono/node-server` 2", pinned(OLDEST, "hono"), pinned("", "hono")],
])("%s: %s to %s", (host, oldest, newest) => {
  expect(page).toContain(`| ${host} | ${oldest} to ${newest} |`);
});

test.each([
  ["`@sd-jwt/sd-jwt-vc`", "credential-issuer/src/sd-jwt.ts"],
  ["`@openid4vc/oauth2`", "credential-issuer/src/openid4vc.ts"],
  ["`@openid4vc/openid4vci`", "credential-issuer/src/openid4vc.ts"],
  ["`@credo-ts/core`", "credo/src/key-management.ts"],
  ["`@openid-federation/core`", "federation/src/statements.ts"],
])("%s takes as many lines as its recipe, %s", (host, recipe) => {
  expect(linesOf(host)).toBe(countLines(recipe));
});

test("no software that signs takes more than ten lines", () => {
  const [, table = ""] = /## Software that signs\n\n([^]+?)\n\n/.exec(page) ?? [];
  const hosts = table.split("\n").slice(2);
  expect(hosts.length).toBeGreaterThan(9);
  for (const row of hosts) expect(linesOf(row.split(" | ")[0]?.slice(2) ?? ""), row).toBeLessThanOrEqual(10);
});

/** The column "lines" of a host. */
function linesOf(host: string): number {
  const row = page.split("\n").find((line) => line.startsWith(`| ${host} | `)) ?? "";
  return Number(row.split(" | ")[2]);
}

test("the version of Next.js is that of its backend", () => {
  const [, version] = /NEXT = "(.+)"/.exec(read("scripts/backends/nextjs.mjs")) ?? [];
  expect(page.match(/\| Next\.js, [^|]+\| ([^ ]+) \|/g)).toHaveLength(2);
  for (const [, named] of page.matchAll(/\| Next\.js, [^|]+\| ([^ ]+) \|/g)) expect(named).toBe(version);
  expect(read("docs/frameworks.md")).toContain(`with Next.js ${version}`);
});
