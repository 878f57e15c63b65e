import { createHash, createHmac } from "node:crypto";

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
  let kept: { readonly secret: string; readonly day: string; readonly key: Buffer } | undefined;
  const signingKey = (secret: string, day: string): Buffer => {
    if (kept?.secret !== secret || kept.day !== day) {
      const ofRegion = hmac(hmac(`AWS4${secret}`, day), region);
      kept = { secret, day, key: hmac(hmac(ofRegion, service), "aws4_request") };
    }
    return kept.key;
  };
  return ({ headers, body, now }, { accessKeyId, secretAccessKey, sessionToken }) => {
    const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, "");
    const day = time.slice(0, 8);
    const signed: Record<string, string> = {
      ...headers,
      host,
      "x-amz-date": time,
      ...(sessionToken !== undefined && { "x-amz-security-token": sessionToken }),
    };
    const names = Object.keys(signed).toSorted();
    const lines = names.map((name) => `${name}:${canonicalValue(signed[name] ?? "")}\n`).join("");
    const signedNames = names.join(";");
    const canonical = `POST\n${canonicalPath}\n\n${lines}\n${signedNames}\n${sha256(body)}`;
    const scope = `${day}/${region}/${service}/aws4_request`;
    const toSign = `${ALGORITHM}\n${time}\n${scope}\n${sha256(canonical)}`;
    const signature = createHmac("sha256", signingKey(secretAccessKey, day)).update(toSign).digest("hex");
    signed["authorization"] =
      `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedNames}, Signature=${signature}`;
    return signed;
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
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
