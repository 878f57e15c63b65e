import { verifiesAlgorithm } from "../algorithms.ts";
import { answerOf, headerOf } from "../exchange.ts";
import type { DiscoveryExchange } from "../exchange.ts";
import type { Facts, JsonObject } from "../facts.ts";
import { metadataOf, readJsonObject } from "../facts.ts";
import { isOnLoopback } from "../../network/host.ts";
import { excerpt, quoted } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";
import { noAnswer } from "./transport.ts";

/** Whether discovery and the key set agree. */
export const DISCOVERY_RULES: readonly Rule[] = [
  { id: "discovery", title: "A discovery document", clause: "OIDC Discovery §4.2, RFC 8414 §3", judge: document },
  {
    id: "issuer",
    title: "It names the issuer that was asked",
    clause: "OIDC Discovery §4.3, RFC 8414 §3.3",
    judge: issuer,
  },
  { id: "jwks-uri", title: "jwks_uri is an https URL", clause: "OIDC Discovery §3, RFC 8414 §2", judge: jwksUri },
  { id: "discovery-agrees", title: "Both discovery documents agree", clause: "RFC 8414 §3.3", judge: agreement },
  { id: "algorithms", title: "Every announced algorithm has a key", clause: "OIDC Discovery §3", judge: algorithms },
];

const KEY_SET_ONLY = "the URL is that of the key set";

/** A discovery document that can be read. */
interface Metadata extends DiscoveryExchange {
  readonly json: JsonObject;
}

/** The documents that can be read, the one of OpenID Connect first. */
function readMetadata({ recording }: Facts): readonly Metadata[] {
  return recording.discovery.flatMap((found) => {
    const json = metadataOf(found);
    return json === undefined ? [] : [{ ...found, json }];
  });
}

function document(facts: Facts): Outcome {
  const { discovery } = facts.recording;
  if (discovery.length === 0) return skipped(KEY_SET_ONLY);
  const [metadata] = readMetadata(facts);
  if (metadata === undefined) {
    const seen = discovery.map((one) => `${one.document}: ${unreadable(one)}`).join("; ");
    return found(
      "must",
      seen,
      "Relying parties find the keys through this document. Serve it as JSON with status 200.",
    );
  }
  const answer = answerOf(metadata.exchange);
  const type = (answer === undefined ? undefined : headerOf(answer, "content-type")) ?? "no Content-Type";
  const faults: CheckFinding[] = [];
  if (metadata.redirects.length > 0) {
    const seen = `${metadata.document} redirects with ${metadata.redirects[0]?.status}`;
    faults.push({ severity: "must", seen, advice: "Answer 200. Many relying parties refuse redirects here." });
  }
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    faults.push({ severity: "must", seen: `${metadata.document}: ${excerpt(type)}`, advice: "Send application/json." });
  }
  return findings(faults, metadata.document);
}

function unreadable({ exchange }: DiscoveryExchange): string {
  if (exchange.kind === "no-answer" || exchange.status !== 200) return noAnswer(exchange);
  const read = readJsonObject(exchange);
  return "fault" in read ? read.fault : 'no member "issuer"';
}

function issuer(facts: Facts): Outcome {
  const asked = facts.recording.issuer;
  const documents = readMetadata(facts);
  if (asked === undefined || documents.length === 0) return skipped(asked === undefined ? KEY_SET_ONLY : "no document");
  return findings(
    documents.flatMap(({ document: name, json }): readonly CheckFinding[] => {
      const named = json["issuer"];
      if (named === asked) return [];
      if (typeof named !== "string")
        return [{ severity: "must", seen: `${name}: issuer is not text`, advice: "Send the issuer." }];
      const seen = `${name}: ${quoted(named)}, asked for ${quoted(asked)}`;
      // The slash is not part of the URL of the document, so it may be the typist's.
      if (withoutSlash(named) === withoutSlash(asked)) {
        return [
          {
            severity: "note",
            seen,
            advice: "Relying parties must be configured with the issuer exactly as it is in the document.",
          },
        ];
      }
      return [
        { severity: "must", seen, advice: "Relying parties refuse the document. Make both the same, byte for byte." },
      ];
    }),
    asked,
  );
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, "");
}

function jwksUri(facts: Facts): Outcome {
  const [metadata] = readMetadata(facts);
  if (metadata === undefined) return skipped(facts.recording.discovery.length === 0 ? KEY_SET_ONLY : "no document");
  const value = metadata.json["jwks_uri"];
  if (value === undefined) {
    // Optional for an authorization server without OpenID Connect.
    const severity = metadata.document === "openid-configuration" ? "must" : "note";
    return found(severity, "no jwks_uri", "Relying parties cannot find the keys. Announce the URL of the set.");
  }
  if (typeof value !== "string" || !URL.canParse(value))
    return found("must", "jwks_uri is not an absolute URL", "Announce the absolute URL of the set.");
  const url = new URL(value);
  const shown = excerpt(value);
  if (url.href.includes("#")) return found("must", `${shown} has a fragment`, "A fragment is never sent. Remove it.");
  if (url.protocol === "https:") return fine(shown);
  if (url.protocol === "http:" && isOnLoopback(url.href)) return skipped("plain HTTP on a loopback host");
  return found("must", shown, "Announce an https URL.");
}

function agreement(facts: Facts): Outcome {
  const documents = readMetadata(facts);
  if (documents.length < 2) {
    return skipped(facts.recording.discovery.length === 0 ? KEY_SET_ONLY : "not both documents are there");
  }
  return findings(
    (["issuer", "jwks_uri"] as const)
      .map((name) => ({ name, values: documents.map(({ json }) => json[name]) }))
      .filter(({ values }) => new Set(values).size > 1)
      .map(({ name, values }) => ({
        severity: name === "issuer" ? "must" : "should",
        seen: `${name}: ${values.map(shown).join(" and ")}`,
        advice: "Clients read either document. Serve the same values in both.",
      })),
  );
}

function shown(value: unknown): string {
  return typeof value === "string" ? quoted(value) : "none";
}

/** More than there are algorithms. A stranger may send any number. */
const MOST_NAMES = 100;

function algorithms(facts: Facts): Outcome {
  const [metadata] = readMetadata(facts);
  if (metadata === undefined || facts.keys.length === 0) {
    return skipped(facts.recording.discovery.length === 0 ? KEY_SET_ONLY : "no document or no set");
  }
  const announced = metadata.json["id_token_signing_alg_values_supported"];
  if (!Array.isArray(announced)) return skipped("id_token_signing_alg_values_supported is not there");
  const names = announced.filter((alg): alg is string => typeof alg === "string").slice(0, MOST_NAMES);
  const without = names.filter((alg) => facts.keys.every(({ members }) => verifiesAlgorithm(alg, members) === false));
  if (without.length === 0) return fine(excerpt(names.join(", ")));
  const advice =
    "A client that asks for it gets tokens that it cannot verify, or an error. Publish the key or remove the algorithm.";
  return found("should", `no key for ${excerpt(without.join(", "))}`, advice);
}
