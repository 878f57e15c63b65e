import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Exchange, NoAnswer, ProbeRequest, TlsSession } from "../../../src/check/exchange.ts";
import { reportOf } from "../../../src/check/check-issuer.ts";
import { locate } from "../../../src/check/probe/locate.ts";
import type { Prober } from "../../../src/check/probe/prober.ts";
import { record } from "../../../src/check/probe/record.ts";
import { readTarget } from "../../../src/check/probe/target.ts";
import type { CheckReport, CheckRow } from "../../../src/check/report.ts";

// An OP in memory that keeps every rule. A test breaks one thing.

export const ISSUER = "https://op.example";
export const JWKS_URI = `${ISSUER}/jwks`;

/** Some time with no meaning. */
export const NOW = Date.parse("2026-11-01T12:00:00Z");

/** What the OP answers. A header that is undefined is not sent, and a list is sent in lines. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string | Uint8Array | undefined;
  readonly tls?: Partial<TlsSession>;
  readonly tookMs?: number;
  readonly isTruncated?: boolean;
  readonly strayBytes?: number;
}

export type Op = (request: ProbeRequest) => Reply | Pick<NoAnswer, "reason" | "detail">;

/** The P-256 key of RFC 7515 appendix A.3. */
export const EC_KEY = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  kid: "sig-1",
  alg: "ES256",
  use: "sig",
};

/** The key of RFC 7515 appendix A.2: RSA with 2048 bits. */
export const RSA_KEY = {
  kty: "RSA",
  n:
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMs" +
    "D1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdV" +
    "MTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
  e: "AQAB",
  kid: "rsa-1",
  alg: "RS256",
  use: "sig",
};

/** The key of RFC 8037 appendix A.2. */
export const ED_KEY = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  kid: "ed-1",
  alg: "EdDSA",
  use: "sig",
};

export const LONG = "public, max-age=3600, stale-while-revalidate=3600";

interface Parts {
  /** Of the set. */
  readonly keys?: readonly unknown[];
  readonly text?: string;
  /** Replaces headers of every 200 and 304. */
  readonly headers?: Reply["headers"];
  readonly tls?: Partial<TlsSession>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The OP. */
export function op({
  keys = [EC_KEY],
  text = JSON.stringify({ keys }),
  headers = {},
  tls,
  metadata = {},
}: Parts = {}): Op {
  const etag = `"${createHash("sha256").update(text).digest("hex")}"`;
  const session = tls === undefined ? {} : { tls };
  return ({ method, url, headers: sent }) => {
    const { pathname } = new URL(url);
    if (pathname === "/.well-known/openid-configuration")
      return json({ issuer: ISSUER, jwks_uri: JWKS_URI, ...ES256, ...metadata });
    if (pathname !== "/jwks") return { status: 404, headers: { "content-type": "text/plain" }, body: "not found" };
    if (method !== "GET" && method !== "HEAD") {
      return { status: 405, headers: { allow: "GET, HEAD", "cache-control": "no-store" }, body: "no", ...session };
    }
    const inm = sent["if-none-match"];
    const common = { etag, "cache-control": LONG, date: new Date(NOW).toUTCString() };
    if (inm === "*" || (inm ?? "").split(", ").includes(etag))
      return { status: 304, headers: { ...common, ...ofNoBody(headers) }, ...session };
    const body = {
      "content-type": "application/jwk-set+json",
      "content-length": `${Buffer.byteLength(text)}`,
      allow: "GET, HEAD",
    };
    return {
      status: 200,
      headers: { ...common, ...body, ...headers },
      body: method === "HEAD" ? "" : text,
      ...session,
    };
  };
}

/** Without what describes a body. */
function ofNoBody({
  "content-type": _type,
  "content-length": _length,
  ...headers
}: Reply["headers"]): Reply["headers"] {
  return headers;
}

const ES256 = { id_token_signing_alg_values_supported: ["ES256"] };

export function json(value: unknown): Reply {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** Changes answers to requests that fit. */
export function changed(
  base: Op,
  fits: (request: ProbeRequest) => boolean,
  change: (reply: Reply, request: ProbeRequest) => ReturnType<Op>,
): Op {
  return (request) => {
    const reply = base(request);
    return fits(request) && "status" in reply ? change(reply, request) : reply;
  };
}

/** What the prober records. */
export function exchangeOf(server: Op, request: ProbeRequest): Exchange {
  const reply = server(request);
  if (!("status" in reply)) return { kind: "no-answer", request, ...reply };
  const { status, headers, body = "", tls, tookMs = 5, isTruncated = false, strayBytes = 0 } = reply;
  return {
    kind: "answer",
    request,
    status,
    headers: Object.entries(headers).flatMap(([name, value]) =>
      value === undefined
        ? []
        : typeof value === "string"
          ? [[name, value] as const]
          : value.map((one) => [name, one] as const),
    ),
    body: typeof body === "string" ? Buffer.from(body) : body,
    isTruncated,
    strayBytes,
    sentAt: NOW,
    tookMs,
    tls: request.url.startsWith("https:")
      ? { protocol: "TLSv1.3", fault: undefined, validUntil: NOW + 90 * 86_400_000, ...tls }
      : undefined,
  };
}

/** Follows redirects as the real prober does, and asks the OP in memory. */
export function proberOf(server: Op): Prober {
  const ask = async (request: ProbeRequest): Promise<Exchange> => exchangeOf(server, request);
  return {
    ask,
    askAt: ask,
    follow: async (request) => {
      const exchange = await ask(request);
      const location =
        exchange.kind === "answer" ? exchange.headers.find(([name]) => name === "location")?.[1] : undefined;
      if (exchange.kind !== "answer" || location === undefined) return { redirects: [], exchange };
      return { redirects: [exchange], exchange: await ask({ ...request, url: location }) };
    },
  };
}

export interface CheckAs {
  readonly url?: string;
  readonly isKeySet?: boolean;
  readonly isStrict?: boolean;
}

export async function check(
  server: Op,
  { url = ISSUER, isKeySet = false, isStrict = false }: CheckAs = {},
): Promise<CheckReport> {
  return reportOf(await record(readTarget(url, isKeySet), proberOf(server), isStrict), [], isStrict);
}

/** Where the key set is. */
export async function located(server: Op, url: string, isKeySet = false): Promise<string | undefined> {
  return (await locate(readTarget(url, isKeySet), proberOf(server))).jwksUrl;
}

/** The rules with another verdict than on the OP that keeps every rule. */
export async function differences(server: Op, as: CheckAs = {}): Promise<Readonly<Record<string, string>>> {
  return (await judged(server, as)).verdicts;
}

/** The rules with another verdict than on the OP that keeps every rule, and the words of all that changed. */
export async function judged(
  server: Op,
  as: CheckAs = {},
): Promise<{ readonly verdicts: Readonly<Record<string, string>>; readonly words: string }> {
  const [good, seen] = await Promise.all([check(op(), as), check(server, as)]);
  const changed = seen.rows.filter((row, index) => !isDeepStrictEqual(row, good.rows[index]));
  const verdicts = seen.rows.flatMap(({ rule, verdict }, index) =>
    verdict === good.rows[index]?.verdict ? [] : [[rule, verdict]],
  );
  return { verdicts: Object.fromEntries(verdicts), words: wordsOf(changed) };
}

/** What rows say. ETags of keys that are made for a test are left out. */
export function wordsOf(rows: readonly CheckRow[]): string {
  const lines = rows.flatMap(({ rule, verdict, seen, findings }) => [
    `${rule} ${verdict}: ${seen}`,
    ...findings.map((finding) => `  ${finding.severity}: ${finding.seen}\n    ${finding.advice}`),
  ]);
  return lines.join("\n").replaceAll(/"[0-9a-f]{64}"/g, '"…"');
}
