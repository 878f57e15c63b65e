import { SignerError } from "@signpost/core";
import { closedError, type OpeningPlan } from "@signpost/core/adapter";
import type { AzureKeyVaultApi, AzureKeyVaultCallOptions } from "./api.ts";
import { createAuthorization } from "./authorization.ts";
import { parseChallenge } from "./challenge.ts";
import type { Settings } from "./client.ts";
import { askCredential } from "./credential.ts";
import { serviceErrorOf, type ApiRequest, type HttpAnswer } from "./exchange.ts";
import { createRequester } from "./requester.ts";
import { AzureServiceError } from "./service-error.ts";
import type { Vault } from "./vault.ts";

/** The calls, and what closes the connections that they use. */
export interface HttpApi {
  readonly api: AzureKeyVaultApi;
  /** A note for the operator while the credential fails. */
  trouble(): string | undefined;
  close(): Promise<void>;
}

/** How much of an attempt a call waits for a token. The rest is enough to report that there is none. */
const TOKEN_SHARE = 0.9;

/** Versions in one page. 25 is the most that the service allows. */
const PAGE = 25;

/** Makes the calls over HTTPS. Sends nothing yet. */
export async function createHttpApi(
  vault: Vault,
  settings: Settings & { readonly credential: NonNullable<Settings["credential"]> },
  plan: OpeningPlan,
): Promise<HttpApi> {
  const requester = await createRequester(vault, settings, plan);
  const closing = new AbortController();
  const ask = askCredential(settings.credential, closing.signal);
  const waitMs = Math.ceil(plan.bounds.attemptTimeoutMs * TOKEN_SHARE);
  const authorization = createAuthorization(vault, settings.scope, ask, waitMs);

  const answerTo = async (request: ApiRequest, signal: AbortSignal): Promise<HttpAnswer> => {
    const answerer = authorization.begin();
    let token = await authorization.token(signal);
    for (;;) {
      signal.throwIfAborted();
      const answer = await requester.send(request, token, signal);
      if (answer.status !== 401) {
        if (token !== undefined && isSuccess(answer)) authorization.accepted(token);
        return answer;
      }
      const next = await answerer.answer(parseChallenge(answer.headers["www-authenticate"]), token, signal);
      if (next === undefined && token === undefined) throw noScope(vault);
      if (next === undefined) return answer;
      token = next;
    }
  };
  const call = async (request: ApiRequest, { signal = NEVER }: AzureKeyVaultCallOptions): Promise<unknown> => {
    const answer = await answerTo(request, signal);
    if (isSuccess(answer)) return answer.json;
    throw new AzureServiceError(serviceErrorOf(answer));
  };
  const version = `api-version=${settings.apiVersion}`;
  return {
    api: {
      getKey: ({ key, keyVersion }, options) => {
        const path = keyVersion === undefined ? `/keys/${key}` : `/keys/${key}/${keyVersion}`;
        return call({ method: "GET", path: `${path}?${version}` }, options);
      },
      sign: ({ key, keyVersion, alg, value }, options) =>
        call({ method: "POST", path: `/keys/${key}/${keyVersion}/sign?${version}`, body: { alg, value } }, options),
      listKeyVersions: ({ key, nextLink }, options) => {
        const path = nextLink === undefined ? firstPage(key, version) : pathOf(nextLink);
        return call({ method: "GET", path }, options);
      },
    },
    trouble: () => authorization.trouble(),
    close: () => {
      closing.abort(closedError());
      return requester.close();
    },
  };
}

function noScope({ host }: Vault): SignerError {
  return new SignerError("access_denied", `${host} asks for a token, but does not say for which resource: set scope`);
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

const NEVER = new AbortController().signal;

function firstPage(key: string, version: string): string {
  return `/keys/${key}/versions?${version}&maxresults=${PAGE}`;
}

/** The request goes to the vault's own host in any case. */
function pathOf(nextLink: string): string {
  const { pathname, search } = new URL(nextLink);
  return `${pathname}${search}`;
}
