import type { Answer, Exchange } from "../exchange.ts";
import { answerOf, headerOf } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { isOnLoopback } from "../../network/host.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";

const DAY_MS = 86_400_000;
/** What most relying parties wait. */
const PATIENCE_MS = 5000;

/** How the key set is reached. */
export const TRANSPORT_RULES: readonly Rule[] = [
  { id: "reachable", title: "The key set answers a GET with 200", clause: "RFC 9110 §15.3.1", judge: reachable },
  { id: "https", title: "The key set has an https URL", clause: "OIDC Discovery §3", judge: https },
  { id: "certificate", title: "Relying parties accept the certificate", clause: "RFC 9110 §4.3.4", judge: certificate },
  { id: "tls-version", title: "TLS 1.2 or later", clause: "RFC 9325 §3.1.1", judge: tlsVersion },
  { id: "redirect", title: "The key set is at its URL, without a redirect", clause: "RFC 9110 §15.4", judge: redirect },
  { id: "time", title: "The answer arrives within 5 seconds", clause: "usual time limit", judge: time },
];

function reachable({ recording, answer }: Facts): Outcome {
  const { get } = recording.probes;
  if (get === undefined) return skipped("the URL of the key set is not known");
  if (answer === undefined)
    return found("must", noAnswer(get), "Relying parties cannot read the keys. Make the URL answer.");
  if (answer.status === 200) return fine(`200 from ${excerpt(answer.request.url)}`);
  if (answer.status >= 300 && answer.status < 400) {
    return found("must", `the redirects do not end at a key set (${answer.status})`, "Serve the set itself.");
  }
  return found("must", `status ${answer.status}`, "Relying parties cannot read the keys. Answer 200 with the set.");
}

/** Why there was no answer, in words. */
export function noAnswer(exchange: Exchange): string {
  if (exchange.kind === "answer") return `status ${exchange.status}`;
  const detail = excerpt(exchange.detail);
  switch (exchange.reason) {
    case "name":
      return `the host name was not found (${detail})`;
    case "connection":
      return `no connection (${detail})`;
    case "time":
      return `no complete answer in time (${detail})`;
    case "tls":
      return `TLS failed (${detail})`;
    case "not-http":
      return `the answer is not HTTP (${detail})`;
    case "not-allowed":
      return `not asked: ${detail}`;
  }
}

function https({ recording }: Facts): Outcome {
  const { jwksUrl } = recording;
  if (jwksUrl === undefined) return skipped("the URL of the key set is not known");
  if (jwksUrl.startsWith("https:")) return fine();
  if (isOnLoopback(jwksUrl)) return skipped("plain HTTP on a loopback host");
  return found(
    "must",
    "the URL of the key set is not https",
    "Anyone on the path can replace the keys. Serve it over https.",
  );
}

function certificate({ recording, answer }: Facts): Outcome {
  if (answer?.tls === undefined) return skipped(isHttp(recording.jwksUrl) ? "plain HTTP" : "no TLS session");
  const session = answer.tls;
  if (session.fault !== undefined) {
    const advice = "Relying parties refuse the connection. Serve a valid certificate and its whole chain.";
    return found("must", `the certificate is not valid: ${excerpt(session.fault)}`, advice);
  }
  if (session.validUntil === undefined) return fine();
  const days = Math.floor((session.validUntil - answer.sentAt) / DAY_MS);
  if (days >= 7) return fine(`valid for ${days} days`);
  return found(
    "note",
    `the certificate ends in ${days} days`,
    "Renew it. When it has ended, no relying party can read the keys.",
  );
}

function tlsVersion({ recording, answer }: Facts): Outcome {
  const { get } = recording.probes;
  if (
    get?.kind === "no-answer" &&
    get.reason === "tls" &&
    /UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION/.test(get.detail)
  ) {
    return found("must", "the server offers no TLS 1.2 or later", "Turn on TLS 1.2 and TLS 1.3.");
  }
  const protocol = answer?.tls?.protocol;
  if (protocol === undefined) return skipped(isHttp(recording.jwksUrl) ? "plain HTTP" : "no TLS session");
  if (protocol === "TLSv1.2" || protocol === "TLSv1.3") return fine(protocol);
  return found("must", excerpt(protocol), "Turn on TLS 1.2 and TLS 1.3.");
}

function redirect({ recording }: Facts): Outcome {
  if (recording.jwksUrl === undefined) return skipped("the URL of the key set is not known");
  const [first] = recording.redirects;
  if (first === undefined) return fine();
  const seen = `${first.status} to ${excerpt(headerOf(first, "location") ?? "nowhere")}`;
  const advice = "Many relying parties refuse redirects. Announce the final URL as jwks_uri.";
  return found("should", seen, advice);
}

function time({ recording }: Facts): Outcome {
  const answers = Object.values(recording.probes).flatMap((exchange) => answerOf(exchange) ?? []);
  const slow: readonly CheckFinding[] = answers.filter(isSlow).map(({ request, tookMs }) => ({
    severity: "note",
    seen: `${request.method} took ${(tookMs / 1000).toFixed(1)} s`,
    advice: "Many relying parties give up after 5 seconds.",
  }));
  if (answers.length === 0) return skipped("no answer");
  return findings(slow.slice(0, 1));
}

function isSlow({ tookMs }: Answer): boolean {
  return tookMs > PATIENCE_MS;
}

function isHttp(url: string | undefined): boolean {
  return url?.startsWith("http:") ?? false;
}
