import { SignerError, type SignerErrorCode } from "@signpost/core";
import { memberOf, safeCause, textMember } from "@signpost/core/adapter";

// `@azure/identity` hides an outage of the network in messages and causes, and names both an identity that is missing and
// one that cannot be reached a CredentialUnavailableError.

const NETWORK =
  /^(?:ECONN[A-Z]+|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|ETIMEDOUT|EPIPE|ERR_PROXY_TUNNEL|UND_ERR_\w+)$/;
const IN_MESSAGE =
  /\b(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|ETIMEDOUT|network_error)\b/;
/** Its client library's word for an authority whose endpoints it could not read: an outage, or a tenant that does not exist. */
const NO_ENDPOINTS = /\bendpoints_resolution_error\b/;
/** The codes of an outage in an answer of the identity provider (RFC 6749 section 4.1.2.1). No member has its status then. */
const OUTAGE_CODE = /\b(?:temporarily_unavailable|server_error)\b/;
/** The code of one that limits the rate. */
const THROTTLE_CODE = /\btoo_many_requests\b/;
/**
 * How its client library repeats an answer with 429 or 5xx, for up to an hour without another request: the numbers of the answer
 * in place of its code.
 */
const REPEATED_OUTAGE = /^(?:\d{1,8}(?: \d{1,8}){0,9})?: /m;
/** What its client library says of an answer without a token. */
const NO_TOKEN = /\bResponse had no "/;
/** How Node's errors of a file begin that is missing or may not be read. Their code may be lost. */
const UNREADABLE_FILE = /^(?:ENOENT|ENOTDIR|EISDIR|EACCES|EPERM)(?=: )/;
const MAX_DEPTH = 5;

/** The error for a credential that gave no token. Its message can contain a tenant, a client or a path, so it is not shown. */
export function credentialError(error: unknown): SignerError {
  if (error instanceof SignerError) return error;
  const { code, text } = rowOf(error);
  const name = memberOf(error, "name");
  const names = typeof name === "string" && /^[A-Z][A-Za-z]{0,63}$/.test(name) ? [name] : [];
  const reasons = [...names, ...reasonsOf(error)];
  const told = reasons.length === 0 ? "" : ` (${reasons.join(", ")})`;
  const cause = safeCause(error, { members: ["code", "statusCode"], hides: () => true });
  return new SignerError(code, `the credential gave no token: ${text}${told}`, { cause });
}

/** The numbers by which Microsoft documents what its identity provider refuses, such as AADSTS7000222 for a secret that ended. */
const REASON = /\bAADSTS\d{4,8}\b/;

function reasonsOf(error: unknown): readonly string[] {
  const found = flatten(error, 0).flatMap((each) => REASON.exec(messageOf(each)) ?? []);
  return [...new Set(found)].slice(0, 3);
}

/** A time-out, a metadata service that is being updated, and the word of a proxy. They say nothing about the identity. */
const PASSES: ReadonlySet<number> = new Set([407, 408, 410]);

interface Row {
  readonly code: SignerErrorCode;
  readonly text: string;
}

function rowOf(error: unknown): Row {
  const all = flatten(error, 0);
  const statuses = all.map(statusOf).filter((each) => typeof each === "number");
  if (statuses.includes(429) || all.some((each) => THROTTLE_CODE.test(messageOf(each)))) {
    return { code: "throttled", text: "the identity provider limits the rate" };
  }
  const outage = statuses.find((status) => status >= 500 || PASSES.has(status));
  if (outage !== undefined || all.some((each) => OUTAGE_CODE.test(messageOf(each)))) {
    const told = outage === undefined ? "" : `: HTTP status ${outage}`;
    return { code: "unavailable", text: `the identity provider is temporarily unavailable${told}` };
  }
  if (all.some((each) => REPEATED_OUTAGE.test(messageOf(each)))) {
    return { code: "unavailable", text: "the identity provider was unavailable or limited the rate just before" };
  }
  if (all.some((each) => NO_ENDPOINTS.test(messageOf(each)))) {
    return { code: "unavailable", text: "the identity provider cannot be reached, or has no such tenant" };
  }
  if (all.some(isNetworkError)) {
    // A chain tries the metadata service, which most machines outside of Azure do not have.
    const isChain = memberOf(error, "name") === "AggregateAuthenticationError";
    const text = "the identity provider cannot be reached";
    return { code: "unavailable", text: isChain ? `${text}, or this machine has no identity` : text };
  }
  if (/^(?:Abort|Timeout)Error$/.test(textMember(error, "name"))) {
    return { code: "timeout", text: "no answer in time" };
  }
  const file = all.map((each) => UNREADABLE_FILE.exec(messageOf(each))?.[0]).find((code) => code !== undefined);
  if (file !== undefined) return { code: "access_denied", text: `a file that it needs cannot be read: ${file}` };
  const isKnown = /^(?:\w*Authentication\w*|CredentialUnavailable)Error$/.test(textMember(error, "name"));
  if (isKnown && all.some(isUnreadable)) {
    return { code: "unavailable", text: "the answer of the identity provider is unreadable" };
  }
  if (isKnown) return { code: "access_denied", text: "no identity, or its credentials are refused" };
  return { code: "unavailable", text: "it failed" };
}

function isNetworkError(error: unknown): boolean {
  const code = memberOf(error, "code");
  return (typeof code === "string" && NETWORK.test(code)) || IN_MESSAGE.test(messageOf(error));
}

/** With an empty answer of any status, the client library fails with a TypeError, and does not say the status. */
function isUnreadable(error: unknown): boolean {
  return /^(?:Type|Syntax)Error$/.test(textMember(error, "name")) || NO_TOKEN.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return textMember(error, "message");
}

/** The HTTP status of an answer: of `@azure/identity`, or of its client library, in the cause. */
function statusOf(error: unknown): unknown {
  return memberOf(error, "statusCode") ?? memberOf(error, "status");
}

/** The error, its causes, and the errors of a chain of credentials. */
function flatten(error: unknown, depth: number): readonly unknown[] {
  if (error === undefined || error === null || depth > MAX_DEPTH) return [];
  const members = memberOf(error, "errors");
  const inner = Array.isArray(members) ? members.slice(0, 20) : [];
  return [error, ...[memberOf(error, "cause"), ...inner].flatMap((each) => flatten(each, depth + 1))];
}
