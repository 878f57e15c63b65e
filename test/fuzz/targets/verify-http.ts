import { createPublicKey } from "node:crypto";
import { BlockList, isIP } from "node:net";
import { createStaticKeySet, discoverKeySet } from "@signpost/verify";
import { importJWK } from "jose";
import { addressRules } from "../../../packages/verify/src/http/address.ts";
import { deltaSeconds, normalisedCacheControl } from "../../../packages/verify/src/http/cache-control.ts";
import { freshnessOf } from "../../../packages/verify/src/http/freshness.ts";
import { contains, parseAddress, parseNetwork } from "../../../packages/verify/src/http/ip-network.ts";
import { isMediaType, mediaTypeOf, printableType } from "../../../packages/verify/src/http/media-type.ts";
import { soleValue } from "../../../packages/verify/src/http/sole-value.ts";
import { checkedUrl } from "../../../packages/verify/src/http/url.ts";
import { parseJwksBody } from "../../../packages/verify/src/jwk/parse-jwks.ts";
import { isPrivateAddress } from "../../../packages/cli/src/network/private-address.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { JWKS, latin1, utf8 } from "./material.ts";

const RULES = {
  defaultMaxAgeSeconds: 600,
  maxAgeCapSeconds: 3600,
  minRevalidateIntervalMs: 1000,
  staleWhileRevalidate: true,
  staleIfErrorSeconds: 300,
};
const CAP_MS = RULES.maxAgeCapSeconds * 1000;
const START = { monotonic: 0, wall: Date.UTC(2026, 0, 1), date: Date.UTC(2026, 0, 1) };
const PUBLIC_ONLY = addressRules();

export const VERIFY_HTTP: readonly Target[] = [
  {
    name: "jwk-set",
    parsers: [
      "verify/jwk/parse-jwks.ts",
      "verify/jwk/parse-jwk.ts",
      "verify/jwk/public-jwk.ts",
      "verify/jwk/json.ts",
      "verify/jwk/ed25519-point.ts",
      "verify/jwk/certified-key.ts",
      "verify/jwk/import-public-jwk.ts",
    ],
    says: "keeps only keys that OpenSSL and jose import, and never a secret one",
    structure: "json",
    seeds: [
      JSON.stringify(JWKS),
      JSON.stringify({ keys: [JWKS.keys[0]] }),
      JSON.stringify({ keys: [{ ...JWKS.keys[1], x5c: ["AAAA"] }] }),
      "{}",
      "[]",
    ],
    words: ["ES256", "EdDSA", "Ed25519", "RS256", "enc", "sig", "verify", "sign", "x5c", "d", "priv", "AQAB"],
    share: 0.5,
    async check(input, probe) {
      const read = probe.attempt(() => parseJwksBody(input, 64));
      if (!read.ok) return read.outcome;
      const { keys, byKid, leftOut, dropped } = read.value;
      for (const { publicJwk, alg, kid } of keys) {
        createPublicKey({ key: { ...publicJwk }, format: "jwk" });
        if (alg !== undefined) await importJWK({ ...publicJwk }, alg);
        must(!["d", "k", "priv"].some((name) => name in publicJwk), "a key has no secret member");
        must(
          kid === undefined || byKid.get(kid)?.some((key) => key.publicJwk === publicJwk) === true,
          "a key is found by its kid",
        );
      }
      mustEqual(
        Object.values(dropped).reduce((sum, count) => sum + count, 0),
        leftOut.length,
        "each entry that is left out is counted",
      );
      const given = createStaticKeySet(JSON.parse(utf8(input).replace(/^\ufeff/, "")) as { keys: unknown[] });
      mustEqual(given.dropped, dropped, "a set that was registered is read in the same way");
      return `${keys.map(({ publicJwk }) => publicJwk.kty).join()}/${Object.keys(dropped).toSorted().join()}`;
    },
  },
  {
    name: "discovery-document",
    parsers: [
      "verify/remote/discover-key-set.ts",
      "verify/http/url.ts",
      "verify/http/media-type.ts",
      "verify/http/sole-value.ts",
    ],
    says: "takes the URL of the keys only from a document of this issuer, and only over https",
    structure: "json",
    seeds: [
      JSON.stringify({ issuer: "https://op.example", jwks_uri: "https://op.example/jwks" }),
      JSON.stringify({ issuer: "https://op.example/", jwks_uri: "http://op.example/jwks" }),
    ],
    words: ["http://", "https://user:secret@op.example", "#", "\t", "https://op.example"],
    share: 0.2,
    async check(input, probe) {
      const asked: string[] = [];
      const fetch = async (url: string): Promise<Response> => {
        asked.push(url);
        const body = asked.length === 1 ? Buffer.from(input) : JSON.stringify(JWKS);
        return new Response(body, {
          headers: { "content-type": asked.length === 1 ? "application/json" : "application/jwk-set+json" },
        });
      };
      const keys = discoverKeySet("https://op.example", { fetch });
      const found = await probe.settle(() => keys({ alg: "ES256", kid: "ec" }));
      const { jwksUri } = keys.stats();
      must(jwksUri === undefined || new URL(jwksUri).protocol === "https:", "the keys come over https");
      must(!found.ok || asked[1] === jwksUri, "the keys come from the URL in the document");
      return `${found.outcome}/${jwksUri !== undefined}`;
    },
  },
  {
    name: "cache-headers",
    parsers: ["verify/http/freshness.ts", "verify/http/cache-control.ts", "core/http-date.ts"],
    says: "never keeps an answer longer than it may, and never one that must not be stored",
    structure: "text",
    seeds: [
      "max-age=300, stale-while-revalidate=60\n10\nThu, 01 Jan 2026 00:00:00 GMT",
      'no-store, max-age="60"\n\n\n',
      "public\n0\nThu, 01 Jan 2026 00:00:00 GMT\nThu, 01 Jan 2026 01:00:00 GMT",
      'max-age=60, max-age=61, private="a, no-store", must-revalidate\n-5\nx\n0',
      "\n1, 2\n\n\n*",
    ],
    words: [
      "no-store",
      "no-cache",
      "max-age=",
      "s-maxage=0",
      "must-revalidate",
      "stale-if-error=999999",
      "immutable",
      '"',
      "\\",
      "Max-Age",
      "9".repeat(30),
    ],
    async check(input) {
      const [cacheControl = "", age, date, expires, vary] = latin1(input).split("\n");
      const headers = Object.fromEntries(
        Object.entries({ "cache-control": cacheControl, age, date, expires, vary }).filter(
          ([, value]) => value !== undefined && value !== "",
        ),
      ) as Record<string, string>;
      const found = await freshnessOf(headers, { requestedAt: START, receivedAt: START }, RULES);
      const { freshForMs, staleWhileRevalidateForMs, staleIfErrorForMs, ageMs } = found;
      must(
        [freshForMs, staleWhileRevalidateForMs, staleIfErrorForMs, ageMs].every((value) => Number.isFinite(value)),
        "each time is a number",
      );
      must(freshForMs > 0 && freshForMs <= CAP_MS && ageMs >= 0, "a lifetime is positive, and not above the limit");
      must(
        staleWhileRevalidateForMs <= 2 * CAP_MS && staleIfErrorForMs <= 2 * CAP_MS,
        "a stale window is not above the limit",
      );
      const plain = cacheControl
        .toLowerCase()
        .split(",")
        .map((directive) => directive.trim());
      if (plain.includes("no-store") && !cacheControl.includes('"'))
        mustEqual(freshForMs, RULES.minRevalidateIntervalMs, "no-store is never fresh");
      const only = /^max-age=(\d{1,9})$/.exec(cacheControl)?.[1];
      if (only !== undefined && vary === undefined) {
        const left = Math.min(CAP_MS, Number(only) * 1000 - ageMs);
        mustEqual(
          freshForMs,
          left > 0 ? left : RULES.minRevalidateIntervalMs,
          "max-age counts from the age of the answer",
        );
      }
      return `${freshForMs === CAP_MS}/${freshForMs > 1000}/${found.ageIsStated}/${staleWhileRevalidateForMs > freshForMs}`;
    },
  },
  {
    name: "cache-control",
    parsers: ["verify/http/cache-control.ts"],
    says: "gives each directive once, and hides none behind a quote",
    structure: "text",
    seeds: ["max-age=300", 'a="b, c", max-age="60"', 'ext="x, no-store', "MAX-AGE=1,,max-age=1", "=,a=", 'a="\\"", b'],
    words: ["no-store", "max-age=", '"', "\\", ",", "="],
    check(input) {
      const value = latin1(input);
      const normal = normalisedCacheControl(value);
      const names = normal === "" ? [] : normal.split(", ").map((directive) => directive.split("=")[0] ?? "");
      must(new Set(names).size === names.length, "each name is there once");
      if (value.split('"').length % 2 === 0 && !value.includes("\\")) {
        const shown = value
          .toLowerCase()
          .split(",")
          .some((directive) => directive.trim() === "no-store");
        must(!shown || names.includes("no-store"), "an open quote hides no directive");
      }
      must(deltaSeconds(value) >= 0 && deltaSeconds(value) <= 2 ** 31, "seconds are in their range");
      return String(Math.min(4, names.length));
    },
  },
  {
    name: "content-type",
    parsers: ["verify/http/media-type.ts", "verify/http/sole-value.ts"],
    says: "finds the type before the parameters, and shows only what is one",
    structure: "text",
    seeds: [
      "application/json",
      "application/jwk-set+json; charset=utf-8",
      "text/html, text/html",
      " Application/JSON ;a",
      "x",
      "a/b,a/b;c",
    ],
    words: [";", ",", "/", "+json", "\t"],
    check(input) {
      const value = latin1(input);
      const type = mediaTypeOf(value);
      must(type === type.trim().toLowerCase() && !type.includes(";"), "a type has no parameters");
      must(/^[a-z0-9!#$&^_.+\-/ ]+$/.test(printableType(type)), "what is shown is a type, or words of ours");
      const isShort = value.length < 400 && value.trim() !== "" && !value.includes(",");
      if (isShort) mustEqual(soleValue(`${value},${value}`), value.trim(), "a field that was sent twice has one value");
      return isMediaType(type) ? "type" : "other";
    },
  },
  {
    name: "key-set-url",
    parsers: ["verify/http/url.ts"],
    says: "accepts https without a user and a fragment",
    structure: "text",
    seeds: [
      "https://op.example/jwks",
      "http://127.0.0.1:3000/jwks",
      "https://user:secret@op.example",
      "https://op.example/#a",
      "HTTPS://op.example?x=y",
    ],
    words: ["http://", "https://", "file:///", "@", "#", "localhost", "\t", "//"],
    check(input, probe) {
      const text = utf8(input);
      const outcomes = [false, true].map((allow) => {
        const read = probe.attempt(() => checkedUrl("url", text, allow), {
          mayShow: "the origin of an insecure URL is shown",
        });
        if (read.ok) {
          const { protocol, username, password, hash } = read.value;
          mustEqual([username, password, hash], ["", "", ""], "there is no user and no fragment");
          must(protocol === "https:" || (allow && protocol === "http:"), "the scheme is https");
        }
        return read.outcome;
      });
      return outcomes.join("/");
    },
  },
  {
    name: "ip-address",
    parsers: [
      "verify/http/ip-network.ts",
      "verify/http/address.ts",
      "verify/http/nat64.ts",
      "cli/network/private-address.ts",
    ],
    says: "reads what Node reads, and the guard of verify and that of the command agree on what is public",
    structure: "text",
    seeds: [
      "8.8.8.8",
      "127.0.0.1",
      "2001:4860:4860::8888",
      "::ffff:10.0.0.1",
      "64:ff9b::808:808",
      "fe80::1%eth0",
      "::",
      "2002:7f00:1::",
      "2001:db8::5efe:1.2.3.4",
      "1:2:3:4:5:6:7::",
    ],
    words: ["::", "ffff:", "64:ff9b::", "64:ff9b:1::", "5efe:", "%", "10.", "169.254.169.254", "0x", "2000:", "3fff:"],
    check(input) {
      const text = latin1(input);
      const address = parseAddress(text);
      const plain = text.split("%", 1)[0] ?? "";
      mustEqual(address !== undefined, isIP(plain) !== 0, "an address is what Node takes for one");
      mustEqual(PUBLIC_ONLY.isAllowed(text), !isPrivateAddress(text), "both guards agree");
      if (address === undefined) return "refused";
      const canonical = address.length === 4 ? address.join(".") : new URL(`http://[${plain}]/`).hostname.slice(1, -1);
      mustEqual([...(parseAddress(canonical) ?? [])], [...address], "the canonical text is the same address");
      return `${address.length}/${PUBLIC_ONLY.isAllowed(text)}`;
    },
  },
  {
    name: "ip-network",
    parsers: ["verify/http/ip-network.ts", "verify/http/address.ts"],
    says: "a network contains what Node says that it contains",
    structure: "text",
    seeds: [
      "10.0.0.0/8 10.1.2.3",
      "2001:db8::/32 2001:db8::1",
      "0.0.0.0/0 8.8.8.8",
      "::/0 ::1",
      "192.168.1.128/25 192.168.1.127",
      "::ffff:10.0.0.0/104 10.9.9.9",
    ],
    words: ["/0", "/32", "/33", "/128", "/129", "/-1", "/08", "::", "255"],
    check(input, probe) {
      const [network = "", text = ""] = latin1(input).split(" ");
      const parsed = parseNetwork(network);
      const rules = probe.attempt(() => addressRules({ allowSubnets: [network] }), {
        mayShow: "what looks like a network is shown",
      });
      must(!rules.ok || parsed !== undefined, "what is allowed is a network");
      const address = parseAddress(text);
      if (parsed === undefined || address === undefined) return "refused";
      if (network.includes(":") && parsed.address.length === 4) return "mapped";
      const family = parsed.address.length === 4 ? "ipv4" : "ipv6";
      const list = new BlockList();
      list.addSubnet(network.split("/")[0] ?? "", parsed.prefixLength, family);
      if (parsed.address.length === address.length && !/ffff:/i.test(text)) {
        mustEqual(contains(parsed, address), list.check(text.split("%", 1)[0] ?? "", family), "Node says the same");
      }
      return `${family}/${contains(parsed, address)}`;
    },
  },
];
