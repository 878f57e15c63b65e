import type { SignerErrorCode } from "@signpost/core";
import { isTlsCode, memberOf, textMember } from "@signpost/core/adapter";

/** The code and the text for an error. */
export interface Row {
  readonly code: SignerErrorCode;
  /** What follows "cannot …: ". */
  readonly text: string;
  /** Only for `integrity`. */
  readonly transient?: boolean | undefined;
}

const NO_ANSWER: Row = { code: "timeout", text: "no answer in time" };
const CUT: Row = { code: "unavailable", text: "the connection was cut" };
const UNREACHABLE: Row = { code: "unavailable", text: "the vault cannot be reached" };
const NO_NAME: Row = {
  code: "unavailable",
  text: "the vault's name does not resolve: the vault was deleted, or its private DNS zone is missing",
};
const NOT_HTTP: Row = { code: "unavailable", text: "something that does not speak HTTP answered" };
const UNKNOWN: Row = { code: "integrity", text: "the client failed for an unknown reason" };

const denied = (text: string): Row => ({ code: "access_denied", text });
const NO_PERMISSION = "the caller lacks the permission";
const RBAC: Row = denied(
  `${NO_PERMISSION}: no role assignment allows it (Key Vault Crypto User, or a role with its data actions)`,
);
const POLICY: Row = denied(`${NO_PERMISSION}: the vault's access policy does not allow it`);
const FIREWALL: Row = denied("the vault's firewall does not allow the caller's network address");
const CONNECTION: Row = denied("the vault accepts private endpoints only, and this connection does not come from one");
const HSM_ROLE: Row = denied(
  `${NO_PERMISSION}: no local role assignment of the Managed HSM allows it (Managed HSM Crypto User, or a role with its data actions)`,
);
const FORBIDDEN: Row = denied("the vault refused the caller, without a reason");
const DISABLED: Row = { code: "key_disabled", text: "the version of the key is disabled" };
const EXPIRED: Row = { code: "key_disabled", text: "the version of the key has expired (exp)" };
const EARLY: Row = { code: "key_disabled", text: "the version of the key is not valid yet (nbf)" };
const OUTSIDE: Row = {
  code: "key_disabled",
  text: "the version of the key has expired (exp) or is not valid yet (nbf)",
};
const NO_SIGN: Row = { code: "unsupported_key", text: "the key_ops of the key do not contain sign" };
const NO_KEY: Row = { code: "key_not_found", text: "there is no such key, or no such version of it" };
const SOFT_DELETED: Row = { code: "key_disabled", text: "the key is soft-deleted, and can be recovered" };

/** By the code in `innererror`, or by the code itself. */
const BY_SERVICE_CODE: ReadonlyMap<string, Row> = new Map([
  ["ForbiddenByRbac", RBAC],
  ["ForbiddenByPolicy", POLICY],
  ["ForbiddenByFirewall", FIREWALL],
  ["ForbiddenByConnection", CONNECTION],
  ["KeyDisabled", DISABLED],
  ["KeyExpired", EXPIRED],
  ["KeyNotYetValid", EARLY],
  ["KeyNotYetValidOrExpired", OUTSIDE],
  ["KeyNotFound", NO_KEY],
  // What a vault answers for each kind of object that it does not have.
  ["SecretNotFound", NO_KEY],
  ["VaultNotFound", { code: "key_not_found", text: "there is no such vault" }],
  ["ObjectIsDeletedButRecoverable", SOFT_DELETED],
  ["ObjectIsBeingDeleted", { code: "key_disabled", text: "the key is being deleted" }],
  ["ObjectIsBeingRecovered", { code: "unavailable", text: "the key is being recovered" }],
]);

/** Codes that are said in messages. Others could be anything. */
const SHOWN: ReadonlySet<string> = new Set([
  ...BY_SERVICE_CODE.keys(),
  "AccessDenied",
  "BadParameter",
  "Conflict",
  "Forbidden",
  "Throttled",
  "Unauthorized",
]);

/** Rows by the message of a 403, where the service says no more, or another transport keeps no inner code. */
const BY_MESSAGE: readonly (readonly [message: RegExp, row: Row])[] = [
  [/disabled key/i, DISABLED],
  [/not permitted on this key|key_ops/i, NO_SIGN],
  [/validity period|nbf.*exp/i, OUTSIDE],
  [/\bexpired\b/i, EXPIRED],
  [/not (?:yet )?(?:valid|active)|before its nbf/i, EARLY],
  [/Not authorized to access .*managedHsm/i, HSM_ROLE],
  [/client address|firewall/i, FIREWALL],
  [/private link|public network access/i, CONNECTION],
  [/does not have keys \w+ permission/i, POLICY],
  [/not authorized to perform action/i, RBAC],
];

/** A refusal of a token. The number says why, such as AKV10032 for one of another tenant. */
const AKV = /\bAKV\d{5}\b/;

function rowOfService(status: number, error: unknown): Row {
  const [code, innerCode, message] = [
    textMember(error, "code"),
    textMember(error, "innerCode"),
    textMember(error, "message"),
  ] as const;
  const named = BY_SERVICE_CODE.get(innerCode) ?? BY_SERVICE_CODE.get(code);
  if (named !== undefined && status >= 400 && status < 500) return named;
  // Access policies, and a Managed HSM, which has the code alone.
  if (status === 403 && (innerCode === "AccessDenied" || code === "AccessDenied")) {
    return /managedHsm/i.test(message) || innerCode === "" ? HSM_ROLE : POLICY;
  }
  switch (status) {
    case 400:
      return /algorithm|incompatible/i.test(message)
        ? { code: "unsupported_key", text: "the key cannot sign with ES256" }
        : { code: "invalid_argument", text: "the vault refused the request" };
    case 401:
      return denied(`the vault refused the token${suffix(AKV.exec(message)?.[0])}`);
    case 403:
      return BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ?? FORBIDDEN;
    case 409:
      return /deleted but recoverable/i.test(message)
        ? SOFT_DELETED
        : { code: "unavailable", text: "another operation on the key is running" };
    case 429:
      return { code: "throttled", text: `over the vault's limit of calls${waitOf(error)}` };
    default:
      return byStatus(status, code !== "", message);
  }
}

function byStatus(status: number, isService: boolean, message: string): Row {
  const http = `HTTP status ${status}`;
  if (status === 408 || status === 504) return { ...NO_ANSWER, text: `${NO_ANSWER.text}: ${http}` };
  if (/security domain|not (?:been )?activated/i.test(message)) {
    return { code: "unavailable", text: "the Managed HSM is not activated: its security domain was not downloaded" };
  }
  if (status >= 500) return { code: "unavailable", text: `the vault is temporarily unavailable: ${http}` };
  if (status === 404 && isService) return NO_KEY;
  if (status >= 400 && isService) return { code: "invalid_argument", text: `the vault refused the request: ${http}` };
  return { code: "unavailable", text: `something other than the vault answered: ${http}` };
}

function suffix(text: string | undefined): string {
  return text === undefined ? "" : ` (${text})`;
}

function waitOf(error: unknown): string {
  const seconds = memberOf(error, "retryAfterSeconds");
  return typeof seconds === "number" ? `; it asks to wait ${seconds} s` : "";
}

/** Rows by the `code` of a system error or of undici. */
const BY_CODE: ReadonlyMap<string, Row> = new Map([
  ["ETIMEDOUT", NO_ANSWER],
  ["UND_ERR_CONNECT_TIMEOUT", NO_ANSWER],
  ["UND_ERR_HEADERS_TIMEOUT", NO_ANSWER],
  ["UND_ERR_BODY_TIMEOUT", NO_ANSWER],
  ["ECONNRESET", CUT],
  ["EPIPE", CUT],
  ["ECONNABORTED", CUT],
  ["UND_ERR_SOCKET", CUT],
  // Among others for a stream of HTTP/2 that the other side closed (CANCEL).
  ["UND_ERR_INFO", CUT],
  ["ENOTFOUND", NO_NAME],
  ["UND_ERR_HEADERS_OVERFLOW", { code: "integrity", text: "the answer is too long" }],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", { code: "integrity", text: "the answer was cut off", transient: true }],
  ["UND_ERR_ABORTED", { code: "unavailable", text: "the client ended the call" }],
  ["UND_ERR_DESTROYED", { code: "unavailable", text: "the client was destroyed" }],
  ["UND_ERR_CLOSED", { code: "unavailable", text: "the client was closed" }],
  ["UND_ERR_RES_EXCEEDED_MAX_SIZE", { code: "integrity", text: "the answer is too long" }],
  // From a ProxyAgent, whose proxy has TLS.
  ["UND_ERR_PRX_TLS", { code: "unavailable", text: "the proxy cannot be reached" }],
  // Of @azure/core-rest-pipeline, in a transport of the caller.
  ["REQUEST_SEND_ERROR", UNREACHABLE],
  ["ECONNREFUSED", { code: "unavailable", text: "the connection was refused" }],
  // From an agent of Node with the option proxyEnv, in a transport of the caller.
  ["ERR_PROXY_TUNNEL", { code: "unavailable", text: "the proxy made no connection" }],
]);

// Node: EAI_AGAIN, EHOSTUNREACH. And HTTP/2.
const CONNECTION_CODE = /^E(?!RR_)[A-Z_]+$|^ERR_(?:OSSL|HTTP2)_/;

/** Codes of clients that are said in messages. Since OpenSSL 3.2, some of TLS contain a slash: ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE. */
const CODE = /^(?:ERR_SSL_SSL\/)?[A-Z][A-Z0-9_]{0,63}$/;

/** What undici's ProxyAgent says, with a code that reads as if the caller had ended the call. */
const PROXY_ANSWER = /^Proxy response \((\d{3})\) /;

/** The row for an error of the service or of the client. */
export function rowOfError(error: unknown): Row {
  const status = memberOf(error, "statusCode");
  if (typeof status === "number") {
    const row = rowOfService(status, error);
    return { ...row, text: `${row.text}${codesOf(error)}` };
  }
  const proxyStatus = PROXY_ANSWER.exec(textMember(error, "message"))?.[1];
  if (proxyStatus !== undefined) {
    return { code: "unavailable", text: `the proxy answered with status ${proxyStatus}` };
  }
  const code = textMember(error, "code");
  if (code.startsWith("UND_ERR_SOCKS5")) {
    return { code: "unavailable", text: `the proxy cannot be used (${code})` };
  }
  // Some versions of undici give it a code, HPE_…, and others do not.
  if (memberOf(error, "name") === "HTTPParserError" || code.startsWith("HPE_")) return NOT_HTTP;
  if (code === "") return UNKNOWN;
  const row = BY_CODE.get(code) ?? (CONNECTION_CODE.test(code) || isTlsCode(code) ? UNREACHABLE : UNKNOWN);
  return { ...row, text: `${row.text}${suffix(CODE.test(code) ? code : undefined)}` };
}

function codesOf(error: unknown): string {
  const codes = ["code", "innerCode"].map((name) => textMember(error, name)).filter((code) => SHOWN.has(code));
  return suffix(codes.length === 0 ? undefined : codes.join(", "));
}

/** Whether the connection is dead: the other side cut it, or did not answer. */
export function isConnectionLoss(error: unknown): boolean {
  const row = BY_CODE.get(textMember(error, "code"));
  return row === CUT || row === NO_ANSWER;
}
