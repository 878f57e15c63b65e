import { createJwksEndpoint, createKeySet, requestPath, type JwksEndpoint } from "@signpost/core";
import { isLoopbackHost, parseHttpDate, readEndpoint, withAnyOrigin } from "@signpost/core/adapter";
import { matchesIfNoneMatch } from "../../../packages/core/src/endpoint/if-none-match.ts";
import { splitTokens } from "../../../packages/core/src/endpoint/tokens.ts";
import { readMoment } from "../../../packages/core/src/rotation/moment.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PUBLIC, latin1, utf8 } from "./material.ts";
import { hasEntityTag, imfFixdate } from "./oracles.ts";

const ETAG = '"abc,DEF"';
const NOW = Date.UTC(2026, 5, 1);
const YEAR_10000 = Date.UTC(10_000, 0);
const ENDPOINT: JwksEndpoint = endpointOf({ issuer: "https://op.example/oidc" });

function endpointOf(options: {
  readonly issuer: string;
  readonly mountPrefix?: string;
  readonly endpoints?: { readonly jwks: string };
}): JwksEndpoint {
  const signer = {
    uri: "example:key",
    publicKey: EC_PUBLIC,
    sign: async () => new Uint8Array(64),
    close: async () => undefined,
  };
  return createJwksEndpoint({ ...options, keys: createKeySet([{ signer }]) });
}

export const CORE_HTTP: readonly Target[] = [
  {
    name: "http-date",
    parsers: ["core/http-date.ts"],
    says: "reads the three forms of RFC 9110, and a form that a server writes always means the same time",
    structure: "text",
    seeds: [
      "Sun, 06 Nov 1994 08:49:37 GMT",
      "Sunday, 06-Nov-94 08:49:37 GMT",
      "Sun Nov  6 08:49:37 1994",
      "Thu, 31 Dec 1998 23:59:60 GMT",
    ],
    words: ["GMT", "UTC", "Feb", "29", "Tuesday", "2000", "0000", "9999", " +0000"],
    check(input) {
      const text = latin1(input);
      const time = parseHttpDate(text, NOW);
      if (time === undefined) {
        const known = Date.parse(text);
        must(!(known >= 0 && known < YEAR_10000) || imfFixdate(known) !== text, "each IMF-fixdate is read");
        return "refused";
      }
      must(Number.isInteger(time) && time % 1000 === 0, "a date has whole seconds");
      must(Math.abs(time - NOW) < 1e15 && !Number.isNaN(new Date(time).getTime()), "a date is a date");
      mustEqual(parseHttpDate(imfFixdate(time), NOW), time, "the time in the form that servers write is the same time");
      if (/^\w{3}, /.test(text) && !/:60 /.test(text))
        mustEqual(imfFixdate(time).toLowerCase(), text.toLowerCase(), "an IMF-fixdate is read as it is written");
      return text.length > 30 ? "long" : String(text.length);
    },
  },
  {
    name: "if-none-match",
    parsers: ["core/endpoint/if-none-match.ts", "core/endpoint/tokens.ts"],
    says: "finds an entity-tag exactly where a second reader of lists finds it",
    structure: "text",
    seeds: [ETAG, `W/${ETAG}`, "*", `"a", ${ETAG} ,"b"`, `"a,${ETAG}`, ` \t${ETAG}\t `, `"a",,W/${ETAG}`],
    words: [ETAG, "W/", "w/", "*", ", "],
    check(input) {
      const value = latin1(input);
      const found = (["ignore", "match"] as const).map((weak) => matchesIfNoneMatch(value, ETAG, weak));
      if (value.length <= 8192) {
        mustEqual(
          found,
          [false, true].map((isWeakEnough) => hasEntityTag(value, ETAG, isWeakEnough)),
          "both readers find the same",
        );
      }
      const response = ENDPOINT.respond("GET", value);
      must(response.status === 200 || response.status === 304, "a condition is never an error");
      must((response.body === null) === (response.status === 304), "only a 304 has no body");
      return found.join();
    },
  },
  {
    name: "request-target",
    parsers: ["core/endpoint/request-path.ts"],
    says: "takes the path of a target as it was sent, and refuses other forms",
    structure: "text",
    seeds: [
      "/jwks",
      "/jwks?a=b",
      "http://op.example/jwks",
      "https://op.example",
      "*",
      "op.example:443",
      "//a/b",
      "/%2e%2e/jwks#x",
      "HTTP://a?b",
    ],
    words: ["http://", "https://", "/", "//", "?", "#", "%2e", "\\", "@"],
    check(input) {
      const target = latin1(input);
      const path = requestPath(target);
      if (path === undefined) {
        must(!target.startsWith("/"), "each target in origin form has a path");
        return "other";
      }
      must(path.startsWith("/") && !path.includes("?"), "a path begins with a slash and ends at the query");
      must(target === path || target.includes(path) || path === "/", "a path is not decoded");
      mustEqual(requestPath(path), path, "the path of a path is itself");
      mustEqual(ENDPOINT.matches(target), path === ENDPOINT.pathname, "the endpoint serves its own path alone");
      return target.startsWith("/") ? "origin" : "absolute";
    },
  },
  {
    name: "requested-headers",
    parsers: ["core/endpoint/tokens.ts", "core/endpoint/cors.ts"],
    says: "echoes only lists of header names",
    structure: "text",
    seeds: ["if-none-match", "a, b ,c", "", ",", "a b", "x\r\nset-cookie: y", "é"],
    words: [",", "\r\n", "content-type", "*", '"', ";"],
    check(input) {
      const list = latin1(input);
      const tokens = splitTokens(list);
      const asked = { origin: "https://rp.example", requestMethod: "GET", requestHeaders: list };
      const { headers } = withAnyOrigin(ENDPOINT.respond("OPTIONS"), "OPTIONS", asked);
      const echoed = headers["Access-Control-Allow-Headers"] ?? "";
      must(/^[!#$%&'*+\-.^_`|~0-9A-Za-z, ]+$/.test(echoed), "what is echoed is a list of names");
      if (tokens !== undefined) mustEqual(splitTokens(tokens.join(", ")), tokens, "a list is written as it was read");
      return tokens === undefined ? "refused" : tokens.length > 1 ? "list" : "one";
    },
  },
  {
    name: "endpoint-request",
    parsers: ["core/endpoint/respond.ts"],
    says: "answers each method, condition and preflight with one of six statuses",
    structure: "text",
    seeds: ["GET\n\nhttps://rp.example\nGET", "HEAD\n*", "OPTIONS\n\nnull\nPUT\nauthorization", "POST", "get\nW/"],
    words: ["GET", "HEAD", "OPTIONS", "TRACE", "null", "__proto__", "constructor"],
    check(input) {
      const [method = "", ifNoneMatch, origin, requestMethod, requestHeaders] = latin1(input).split("\n");
      const response = ENDPOINT.respond(method, ifNoneMatch, { origin, requestMethod, requestHeaders });
      must([200, 204, 304, 405].includes(response.status), "the status is one that the endpoint documents");
      must(
        Object.values(response.headers).every((value) => /^[\x20-\x7e]*$/.test(value)),
        "each header can be sent",
      );
      return `${response.status}/${String(response.body === null)}`;
    },
  },
  {
    name: "issuer",
    parsers: ["core/endpoint/routes.ts", "core/loopback-host.ts"],
    says: "publishes a URL that no parser changes, below the issuer, or refuses the issuer",
    structure: "text",
    seeds: [
      "https://op.example",
      "https://op.example/tenant/",
      "http://127.0.0.1:3000/a",
      "https://op.example:8443/%41",
      "https://[::1]/",
      "https://OP.example/a;b=c",
    ],
    words: ["https://", "http://localhost", "@", "/..", "/.", "%2e", "//", "?", "#", "\\", "\t", "é", "xn--"],
    check(input, probe) {
      const issuer = utf8(input);
      const made = probe.attempt(() => endpointOf({ issuer }), {
        mayShow: "the path or the origin of an issuer is shown",
      });
      if (!made.ok) return made.outcome;
      const { jwksUri, pathname } = made.value;
      const url = new URL(jwksUri);
      must(jwksUri.startsWith(issuer.replace(/\/$/, "")), "the URL begins with the issuer");
      mustEqual(
        [url.pathname, url.search, url.hash, url.username],
        [pathname, "", "", ""],
        "no parser changes the path",
      );
      mustEqual(
        url.href.slice(url.origin.length),
        jwksUri.slice(jwksUri.indexOf("/", 8)),
        "no parser changes what follows the host",
      );
      must(url.protocol === "https:" || isLoopbackHost(url.hostname), "plain http never leaves the machine");
      return url.pathname === "/jwks" ? "root" : "path";
    },
  },
  {
    name: "route-path",
    parsers: ["core/endpoint/routes.ts"],
    says: "accepts only paths that no router takes for a pattern",
    structure: "text",
    seeds: ["/jwks", "/oidc/jwks.json", "/a-b/~c", "/.well-known/jwks"],
    words: ["/", "..", ":id", "*", "%41", "(", "{", "?", "$"],
    check(input, probe) {
      const jwks = utf8(input);
      const made = probe.attempt(() => endpointOf({ issuer: "https://op.example", endpoints: { jwks } }));
      if (!made.ok) return made.outcome;
      mustEqual(new URL(made.value.jwksUri).pathname, jwks, "no parser changes the path");
      must(!/[:*()+!{}?#%\\\s]/.test(jwks), "no router takes the path for a pattern");
      must(made.value.matches(`${jwks}?a`) && !made.value.matches(`${jwks}/`), "the endpoint serves this path alone");
      return String(jwks.split("/").length);
    },
  },
  {
    name: "service-endpoint",
    parsers: ["core/backend/service-endpoint.ts", "core/loopback-host.ts"],
    says: "accepts scheme, host and port alone, and plain http only on this machine",
    structure: "text",
    seeds: [
      "https://kms.example.com",
      "http://127.0.0.1:4566",
      "http://localhost:80/",
      "https://[::1]:443",
      "http://[::1]",
      "https://a.b:0",
    ],
    words: ["http://", "https://", "127.0.0.1", "0x7f.1", "2130706433", "localhost", ":443", "@", "/", "?", "#", "\t"],
    check(input, probe) {
      const read = probe.attempt(() => readEndpoint("endpoint", utf8(input)), {
        mayShow: "the origin of an insecure endpoint is shown",
      });
      if (!read.ok) return read.outcome;
      const { url, host, hostname, port, plaintext } = read.value;
      mustEqual(readEndpoint("endpoint", url), read.value, "the URL of an endpoint means this endpoint");
      must(!plaintext || isLoopbackHost(hostname), "plain http never leaves the machine");
      must(
        host.startsWith(hostname) && Number.isInteger(port) && port >= 0 && port <= 65_535,
        "host and port are those of a URL",
      );
      return plaintext ? "http" : "https";
    },
  },
  {
    name: "moment",
    parsers: ["core/rotation/moment.ts"],
    says: "reads a date and time of RFC 3339 with a zone, and nothing else",
    structure: "text",
    seeds: [
      "2026-03-01T08:00:00Z",
      "2026-03-01t08:00:00.123456z",
      "2024-02-29T23:59:59+14:00",
      "0000-01-01T00:00:00Z",
      "9999-12-31T23:59:59-00:01",
    ],
    words: ["Z", "z", "T", "+00:00", "-23:59", "+24:00", "02-30", ":60", ".5", " "],
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => readMoment("activeFrom", text));
      if (!read.ok) return read.outcome;
      must(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text),
        "what is read is RFC 3339 with a zone",
      );
      mustEqual(
        readMoment("activeFrom", new Date(read.value).toISOString()),
        read.value,
        "the time in UTC is the same time",
      );
      must(
        Math.abs(read.value - Date.parse(`${text.slice(0, 10)}T00:00:00Z`)) < 48 * 3_600_000,
        "the date is the one in the text",
      );
      return text.length > 20 ? "offset" : "utc";
    },
  },
];
