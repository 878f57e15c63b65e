import { createHmac, hash } from "node:crypto";

// AWS Signature Version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html

/** What a request is signed with. */
export interface SigningCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Where the requests go. */
export interface SigningScope {
  readonly region: string;
  readonly service: string;
  /** As in the `Host` header: with the port, unless it is the scheme's default. */
  readonly host: string;
  /** As in the request line. */
  readonly path: string;
}

/** A POST request without query. */
export interface RequestToSign {
  /** Names in lower case. `host` and the headers of the signature are added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The current time of the service. Milliseconds since 1970. */
  readonly now: number;
}

/** Returns the headers of a request, with its signature. */
export type SignRequest = (request: RequestToSign, credentials: SigningCredentials) => Record<string, string>;

const ALGORITHM = "AWS4-HMAC-SHA256";

/** Makes the function that signs requests for one service in one Region. It keeps the signing key for the day. */
export function createRequestSigner({ region, service, host, path }: SigningScope): SignRequest {
  const canonicalPath = encodePath(path);
  const clock = createClock();
  let kept: { readonly secret: string; readonly day: string; readonly key: Buffer } | undefined;
  const signingKey = (secret: string, day: string): Buffer => {
    if (kept?.secret !== secret || kept.day !== day) {
      const ofRegion = hmac(hmac(`AWS4${secret}`, day), region);
      kept = { secret, day, key: hmac(hmac(ofRegion, service), "aws4_request") };
    }
    return kept.key;
  };
  let prepared: PreparedHeaders | undefined;
  return ({ headers, body, now }, { accessKeyId, secretAccessKey, sessionToken }) => {
    const { time, day } = clock(now);
    if (prepared?.headers !== headers || prepared.sessionToken !== sessionToken) {
      prepared = prepareHeaders(headers, host, sessionToken);
    }
    const { beforeTime, afterTime, signedNames } = prepared;
    const canonical = `POST\n${canonicalPath}\n\n${beforeTime}${time}${afterTime}\n${signedNames}\n${sha256(body)}`;
    const scope = `${day}/${region}/${service}/aws4_request`;
    const toSign = `${ALGORITHM}\n${time}\n${scope}\n${sha256(canonical)}`;
    const signature = createHmac("sha256", signingKey(secretAccessKey, day)).update(toSign).digest("hex");
    return {
      ...prepared.sent,
      "x-amz-date": time,
      authorization: `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`,
    };
  };
}

/** What is the same for all requests with the same headers. */
interface PreparedHeaders {
  readonly headers: RequestToSign["headers"];
  readonly sessionToken: string | undefined;
  /** All headers, except for the time and the signature. */
  readonly sent: Readonly<Record<string, string>>;
  /** The canonical headers before and after the value of the time. */
  readonly beforeTime: string;
  readonly afterTime: string;
  readonly signedNames: string;
}

const TIME_HEADER = "x-amz-date";

function prepareHeaders(
  headers: RequestToSign["headers"],
  host: string,
  sessionToken: string | undefined,
): PreparedHeaders {
  const sent = { ...headers, host, ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }) };
  const values = new Map([...Object.entries<string>(sent), [TIME_HEADER, ""]]);
  const names = [...values.keys()].toSorted();
  const lines = (of: readonly string[]): string =>
    of.map((name) => `${name}:${canonicalValue(values.get(name) ?? "")}\n`).join("");
  const at = names.indexOf(TIME_HEADER);
  return {
    headers,
    sessionToken,
    sent,
    beforeTime: `${lines(names.slice(0, at))}${TIME_HEADER}:`,
    afterTime: `\n${lines(names.slice(at + 1))}`,
    signedNames: names.join(";"),
  };
}

/** Writes the time for the headers. Most requests follow another in the same second. */
function createClock(): (now: number) => { readonly time: string; readonly day: string } {
  let second: number | undefined;
  let written = { time: "", day: "" };
  return (now) => {
    const current = Math.floor(now / 1000);
    if (current !== second) {
      const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, "");
      written = { time, day: time.slice(0, 8) };
      second = current;
    }
    return written;
  };
}

/** White space counts once, and not at the ends, because HTTP allows the other side to drop it. */
function canonicalValue(value: string): string {
  return value.replace(/[ \t]+/g, " ").replace(/^ | $/g, "");
}

/**
 * Every service but S3 drops empty segments, and encodes the path once more, although it is already encoded in the request
 * line.
 */
function encodePath(path: string): string {
  return encodeURIComponent(path.replace(/\/{2,}/g, "/"))
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return hash("sha256", text, "hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
