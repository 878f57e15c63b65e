// What the prober records and the rules read: plain data.

/** A header line. The name is as it was sent. */
export type HeaderLine = readonly [name: string, value: string];

/** A request that was sent, or would have been. */
export interface ProbeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The TLS session of an answer. */
export interface TlsSession {
  /** Such as `TLSv1.3`. */
  readonly protocol: string;
  /** Why a relying party rejects the certificate: OpenSSL's or Node's code. Undefined if the certificate is valid. */
  readonly fault: string | undefined;
  /** When the certificate ends, in milliseconds since 1970. Undefined if it does not say. */
  readonly validUntil: number | undefined;
}

/** A response, with at most as many bytes as the prober reads. */
export interface Answer {
  readonly kind: "answer";
  readonly request: ProbeRequest;
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: Uint8Array;
  /** Whether the body was longer than the prober reads. */
  readonly isTruncated: boolean;
  /** Bytes that came after the header of an answer that has no body: to HEAD, or a 304. */
  readonly strayBytes: number;
  /** When the request was sent, in milliseconds since 1970. */
  readonly sentAt: number;
  /** From the name lookup to the last byte. */
  readonly tookMs: number;
  /** Undefined over plain HTTP. */
  readonly tls: TlsSession | undefined;
}

/** Why there is no response. */
export type NoAnswerReason = "name" | "connection" | "time" | "tls" | "not-http" | "not-allowed";

/** A request without a response. */
export interface NoAnswer {
  readonly kind: "no-answer";
  readonly request: ProbeRequest;
  readonly reason: NoAnswerReason;
  /** The error's code, or what was not allowed. */
  readonly detail: string;
}

/** A request and what came of it. */
export type Exchange = Answer | NoAnswer;

/** The requests that are made for each key set. */
export type ProbeName =
  | "get"
  | "head"
  | "exact"
  | "star"
  | "list"
  | "weak"
  | "other"
  | "headExact"
  | "post"
  | "acceptJwkSet"
  | "acceptJson"
  | "gzip"
  | "gzipExact"
  | "again"
  | "query"
  | "options"
  | "patch";

/** Everything that a check saw. */
export interface Recording {
  /** The URL that was given. */
  readonly target: string;
  /** The issuer that was given or that follows from the URL. Undefined if the URL is that of the key set. */
  readonly issuer: string | undefined;
  /** The requests for the two discovery documents, or none. */
  readonly discovery: readonly DiscoveryExchange[];
  /** Undefined if discovery did not tell it. */
  readonly jwksUrl: string | undefined;
  /** The redirects on the way to the set, in order. */
  readonly redirects: readonly Answer[];
  /** The requests for the key set. One that made no sense is absent, such as one with an ETag that was never sent. */
  readonly probes: Readonly<Partial<Record<ProbeName, Exchange>>>;
}

/** A discovery document, and the redirects on the way to it. */
export interface DiscoveryExchange {
  readonly document: "openid-configuration" | "oauth-authorization-server";
  readonly redirects: readonly Answer[];
  readonly exchange: Exchange;
}

/**
 * The values of a header in one line, as HTTP joins them (RFC 9110 section 5.3). A header that was sent twice with the same value was
 * sent once. Undefined if it was not sent.
 */
export function headerOf(answer: Answer, name: string): string | undefined {
  const values = valuesOf(answer, name);
  return values.length === 0 ? undefined : [...new Set(values)].join(", ");
}

/** Whether a header was sent more than once. */
export function isRepeated(answer: Answer, name: string): boolean {
  return valuesOf(answer, name).length > 1;
}

function valuesOf({ headers }: Answer, name: string): readonly string[] {
  return headers.filter(([sent]) => sent.toLowerCase() === name).map(([, value]) => value);
}

/** The exchange if it is an answer. */
export function answerOf(exchange: Exchange | undefined): Answer | undefined {
  return exchange?.kind === "answer" ? exchange : undefined;
}
