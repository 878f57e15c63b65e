import { describe, expect, test } from "vitest";
import type { Config } from "../src/config/config.ts";
import { answerAdmin, readAdminPlace } from "../src/program/admin.ts";
import { requireUnchanged } from "../src/program/fixed.ts";
import { openHttpPort } from "../src/program/http-port.ts";
import { readPublicPlace } from "../src/program/public-port.ts";
import { ISSUER } from "./support/claims.ts";

// What a reload cannot change, and the ports of the program.

const BEFORE: Config = {
  issuer: ISSUER,
  socket: { path: "/run/s/s.sock", mode: "0660", group: 7 },
  maxTokenLifetimeSeconds: 3600,
  admin: { port: 8081 },
  audit: "-",
  publicJwks: { port: 8443 },
};
const reload = (members: object, before: Partial<Config> = {}): void =>
  requireUnchanged({ ...BEFORE, ...before }, { ...BEFORE, ...before, ...members }, 3600);

describe("a reload may change", () => {
  test.each([
    {},
    { socket: { group: 7, path: "/run/s/s.sock", mode: "0660" } },
    { maxTokenLifetimeSeconds: 3600 },
    { maxTokenLifetimeSeconds: 3601 },
    { refreshHintSeconds: 5, keys: [], legacyKeys: [], adapters: {} },
    { publicJwks: { port: 8443, issuer: "https://keys.example", path: "/keys" } },
  ])("%j", (members) => {
    expect(() => reload(members)).not.toThrow();
  });

  test("nothing of a public key set that is not there", () => {
    expect(() => reload({}, { publicJwks: undefined })).not.toThrow();
  });
});

describe("a reload may not change", () => {
  test.each([
    [{ issuer: `${ISSUER}/` }, "issuer: changes only with a restart of this signer"],
    [{ socket: { path: "/run/s/s.sock", mode: "0660", group: 8 } }, "socket: changes only"],
    [{ admin: { port: 8082 } }, "admin: changes only"],
    [{ admin: undefined }, "admin: changes only"],
    [{ audit: "audit.log" }, "audit: changes only"],
    [{ publicJwks: { port: 8444 } }, "publicJwks: has its port until a restart of this signer"],
    [{ publicJwks: { port: 8443, host: "::1" } }, "publicJwks: has its port until a restart"],
    [{ publicJwks: undefined }, "publicJwks: has its port until a restart"],
    [{ maxTokenLifetimeSeconds: 3599 }, "maxTokenLifetimeSeconds: expected at least 3600"],
  ])("%j", (members, message) => {
    expect(() => reload(members)).toThrow(message);
  });

  test("that a key set is served at a port", () => {
    expect(() => reload({ publicJwks: { port: 1 } }, { publicJwks: undefined })).toThrow(
      "publicJwks: is not served until a restart of this signer",
    );
  });
});

describe("the place of a port", () => {
  test.each(["127.0.0.1", "127.9.9.9", "::1", "localhost"])("of the admin may be %s", (host) => {
    expect(readAdminPlace({ host, port: 1 })).toEqual({ place: "admin", host, port: 1 });
  });

  test("is on 127.0.0.1 if nothing else is said", () => {
    expect(readAdminPlace({ port: 65_535 })).toEqual({ place: "admin", host: "127.0.0.1", port: 65_535 });
    expect(readPublicPlace({ port: 0 })).toEqual({ place: "publicJwks", host: "127.0.0.1", port: 0 });
  });

  test("of the public key set may be anywhere", () => {
    const place = readPublicPlace({ host: "0.0.0.0", port: 65_535 });
    expect(place).toEqual({ place: "publicJwks", host: "0.0.0.0", port: 65_535 });
  });

  test.each([-1, 65_536, 1.5, "80", undefined])("has no port %j", (port) => {
    const config = { port } as { readonly port: number };
    expect(() => readAdminPlace(config)).toThrow("admin.port: ");
    expect(() => readPublicPlace(config)).toThrow("publicJwks.port: ");
  });

  test("has no host that is no text", () => {
    const config = { host: 7, port: 1 } as unknown as { readonly host: string; readonly port: number };
    expect(() => readAdminPlace(config)).toThrow("admin.host: expected a loopback address");
    expect(() => readPublicPlace(config)).toThrow("publicJwks.host: ");
    expect(() => readPublicPlace({ host: "", port: 1 })).toThrow("publicJwks.host: ");
  });
});

describe("an open port", () => {
  const state = {
    notReady: (): string | undefined => problem,
    metrics: () => [{ name: "a", type: "gauge", help: "b", samples: [{ value: 1 }] }] as const,
  };
  let problem: string | undefined;

  test("answers health and metrics, and has its address as the origin", async () => {
    const port = await openHttpPort({ place: "admin", host: "127.0.0.1", port: 0 }, answerAdmin(state));
    try {
      expect(port).toMatchObject({ place: "admin", origin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/) });
      const ask = async (path: string, method = "GET"): Promise<readonly unknown[]> => {
        const response = await fetch(`${port.origin}${path}`, { method });
        const { headers, status } = response;
        expect(headers.get("cache-control")).toBe("no-store");
        return [status, headers.get("content-type"), headers.get("content-length"), await response.text()];
      };
      const text = "text/plain; charset=utf-8";
      expect(await ask("/livez")).toEqual([200, text, "2", "ok"]);
      expect(await ask("/livez", "HEAD")).toEqual([200, text, "2", ""]);
      expect(await ask("/readyz")).toEqual([200, text, "2", "ok"]);
      problem = "stopping";
      expect(await ask("/readyz")).toEqual([503, text, "8", "stopping"]);
      const metrics = "# HELP a b\n# TYPE a gauge\na 1\n";
      const type = "text/plain; version=0.0.4; charset=utf-8";
      expect(await ask("/metrics?a")).toEqual([200, type, String(metrics.length), metrics]);
      expect(await ask("/other")).toEqual([404, text, "9", "Not found"]);
      expect(await ask("/livez", "DELETE")).toEqual([405, text, "18", "Method not allowed"]);
    } finally {
      await port.close();
    }
  });

  test("has the brackets of an IPv6 address in its origin", async () => {
    const port = await openHttpPort({ place: "admin", host: "::1", port: 0 }, answerAdmin(state));
    expect(port.origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
    await port.close();
  });

  test("that is taken is an error of the option, with the code of the system", async () => {
    const port = await openHttpPort({ place: "admin", host: "127.0.0.1", port: 0 }, answerAdmin(state));
    const place = { place: "publicJwks", host: "127.0.0.1", port: Number(new URL(port.origin).port) };
    await expect(openHttpPort(place, answerAdmin(state))).rejects.toThrow(
      "publicJwks: cannot listen there (EADDRINUSE); port 0 takes a free one",
    );
    await port.close();
    await expect(fetch(port.origin)).rejects.toThrow();
  });
});
