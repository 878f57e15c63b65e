import type { Answer, Exchange, NoAnswer, ProbeRequest } from "../exchange.ts";
import { headerOf } from "../exchange.ts";
import { isOnLoopback } from "../../network/host.ts";
import type { Address } from "./connect.ts";
import { send } from "./send.ts";
import type { Bounds } from "./send.ts";

const MAX_REDIRECTS = 3;

/** How the prober asks. */
export interface Probing extends Bounds {
  /** Whether plain HTTP is also used for hosts that are not this machine. */
  readonly isHttpAllowed: boolean;
}

/** An exchange and the redirects on the way to it. */
export interface Followed {
  readonly redirects: readonly Answer[];
  readonly exchange: Exchange;
}

/** Makes the requests of one check. */
export interface Prober {
  /** One request, without redirects. */
  readonly ask: (probe: ProbeRequest) => Promise<Exchange>;
  /** One request through a few redirects. */
  readonly follow: (probe: ProbeRequest) => Promise<Followed>;
  /** One request to another address of the same host. */
  readonly askAt: (probe: ProbeRequest, address: Address | undefined) => Promise<Exchange>;
}

/**
 * Makes requests for a URL that the user gave. A host that only a document or a redirect names must not lead from the Internet into
 * the network of this machine.
 */
export function createProber(given: string, probing: Probing): Prober {
  const { origin } = new URL(given);
  let answeredFrom: "unknown" | "public" | "private" = "unknown";

  const ask = async (probe: ProbeRequest): Promise<Exchange> => {
    const problem = notAllowed(probe, probing.isHttpAllowed);
    if (problem !== undefined) return problem;
    const isGiven = new URL(probe.url).origin === origin;
    const { exchange, isPrivate } = await send(probe, {
      ...probing,
      isPublicOnly: !isGiven && answeredFrom !== "private",
    });
    // A host that answered once from the Internet is not taken for a private one because of another of its addresses.
    if (isGiven && exchange.kind === "answer") {
      answeredFrom = isPrivate && answeredFrom !== "public" ? "private" : "public";
    }
    return exchange;
  };

  return {
    ask,
    async follow(probe) {
      const redirects: Answer[] = [];
      let exchange = await ask(probe);
      while (exchange.kind === "answer" && redirects.length < MAX_REDIRECTS) {
        const next = locationOf(exchange);
        if (next === undefined) break;
        redirects.push(exchange);
        exchange = await ask({ ...probe, url: next });
      }
      return { redirects, exchange };
    },
    async askAt(probe, address) {
      const problem = notAllowed(probe, probing.isHttpAllowed);
      return problem ?? (await send(probe, { ...probing, address, isPublicOnly: false })).exchange;
    },
  };
}

function notAllowed(request: ProbeRequest, isHttpAllowed: boolean): NoAnswer | undefined {
  const { protocol, href } = new URL(request.url);
  if (protocol === "https:" || (protocol === "http:" && (isHttpAllowed || isOnLoopback(href)))) return undefined;
  const detail = protocol === "http:" ? "plain HTTP (--allow-http asks anyway)" : "the URL is not http or https";
  return { kind: "no-answer", request, reason: "not-allowed", detail };
}

function locationOf(answer: Answer): string | undefined {
  if (![301, 302, 303, 307, 308].includes(answer.status)) return undefined;
  const location = headerOf(answer, "location");
  if (location === undefined || !URL.canParse(location, answer.request.url)) return undefined;
  return new URL(location, answer.request.url).href;
}
