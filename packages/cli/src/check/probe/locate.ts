import type { DiscoveryExchange, Exchange, Recording } from "../exchange.ts";
import { answerOf } from "../exchange.ts";
import { metadataOf, readJsonObject } from "../facts.ts";
import type { Followed, Prober } from "./prober.ts";
import { get, getMetadata } from "./requests.ts";
import type { Target } from "./target.ts";

/** Where the key set is, and the first answer from there. */
export interface Located extends Pick<Recording, "target" | "issuer" | "discovery" | "jwksUrl"> {
  /** Undefined if discovery did not tell the URL. */
  readonly first: Followed | undefined;
}

/** Finds the key set of a URL, which may be that of an issuer, of a discovery document, or of the set itself. */
export async function locate(target: Target, prober: Prober): Promise<Located> {
  const asKeySet = (first: Followed): Located => {
    return { target: target.url, issuer: undefined, discovery: [], jwksUrl: target.url, first };
  };
  const guessed = target.kind !== "issuer" && target.looksLikeKeySet ? await prober.follow(get(target.url)) : undefined;
  if (guessed !== undefined && (target.kind === "jwks" || isKeySet(guessed.exchange) || isAway(guessed.exchange))) {
    return asKeySet(guessed);
  }
  const discovery = await discover(target, prober);
  const metadata = discovery.map(metadataOf).find((one) => one !== undefined);
  if (metadata === undefined && target.kind === "unknown" && !discovery.some(({ exchange }) => isAway(exchange))) {
    const given = guessed ?? (await prober.follow(get(target.url)));
    if (guessed !== undefined || isKeySet(given.exchange)) return asKeySet(given);
  }
  const url = metadata?.["jwks_uri"];
  const jwksUrl = typeof url === "string" && URL.canParse(url) ? new URL(url).href : undefined;
  const first = jwksUrl === undefined ? undefined : await prober.follow(get(jwksUrl));
  return { target: target.url, issuer: target.issuer, discovery, jwksUrl, first };
}

/** Asks for the discovery documents, one after the other. */
async function discover({ documents }: Target, prober: Prober): Promise<readonly DiscoveryExchange[]> {
  const discovery: DiscoveryExchange[] = [];
  for (const { document, url } of documents) {
    const found = { document, ...(await prober.follow(getMetadata(url))) };
    discovery.push(found);
    if (isAway(found.exchange)) break;
  }
  return discovery;
}

function isKeySet(exchange: Exchange): boolean {
  const answer = answerOf(exchange);
  if (answer?.status !== 200) return false;
  const read = readJsonObject(answer);
  return !("fault" in read) && Array.isArray(read.json["keys"]);
}

/** Whether a second request would fail in the same way. */
function isAway(exchange: Exchange): boolean {
  return exchange.kind === "no-answer" && exchange.reason !== "not-http";
}
