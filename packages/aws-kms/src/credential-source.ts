import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import { CredentialsError, credentialsErrorFrom } from "./credential-errors.ts";
import { recordRequests, type RequestRecord } from "./credential-requests.ts";

/** What the SDK asks a source of credentials. */
export type CredentialProvider<Identity> = (options?: Record<string, unknown>) => Promise<Identity>;

/** A provider's answer that is waited for. */
interface Question<Identity> {
  readonly askedAt: Instant;
  /** One for all questions to a provider that wait together, since the provider may answer them by the same requests. */
  readonly record: RequestRecord;
  readonly waiters: Set<Waiter<Identity>>;
}

interface Waiter<Identity> {
  answered(identity: Identity): void;
  failed(error: unknown, by: Question<Identity>): void;
}

interface Asked<Identity> {
  readonly cached?: Question<Identity> | undefined;
  readonly newer?: Question<Identity> | undefined;
}

/** The longest time for which one provider is waited for before the next one is made. Milliseconds. */
const MAX_PATIENCE_MS = 30_000;
/** As many hung providers may still bring an answer. */
const MAX_HUNG = 8;

/**
 * Asks the provider that `make` gives, and never waits for it longer than `patienceMs`. A provider of the SDK whose request
 * hangs lets every later call wait for that request. So the call after one that was out of time asks a new provider, and
 * takes the first answer that comes: a source that is only slow is not asked in vain. While none answers, new providers are
 * made less and less often.
 *
 * Rejects with `CredentialsError`.
 */
export function createCredentialSource<Identity>(
  make: () => CredentialProvider<Identity>,
  patienceMs: number,
): CredentialProvider<Identity> {
  let current = make();
  /** Of the current provider: for what it has, and for newer credentials than it has. */
  let asked: Asked<Identity> = {};
  /** Of earlier providers, the oldest first. */
  let hung: readonly Question<Identity>[] = [];
  /** How many providers hang since the last answer. */
  let replaced = 0;

  const close = (question: Question<Identity>): void => {
    asked = {
      ...(asked.cached !== question && { cached: asked.cached }),
      ...(asked.newer !== question && { newer: asked.newer }),
    };
    hung = hung.filter((other) => other !== question);
  };
  const ask = (options: Record<string, unknown> | undefined): Question<Identity> => {
    const record = (asked.cached ?? asked.newer)?.record ?? { last: undefined };
    const question: Question<Identity> = { askedAt: readInstant(), record, waiters: new Set() };
    const provider = current;
    recordRequests(record, () => provider(options)).then(
      (identity) => {
        close(question);
        // The one that answers keeps what it has.
        current = provider;
        replaced = 0;
        for (const waiter of question.waiters) waiter.answered(identity);
      },
      (error: unknown) => {
        close(question);
        for (const waiter of question.waiters) waiter.failed(error, question);
      },
    );
    return question;
  };
  const replaceStuck = (): void => {
    const patience = Math.min(patienceMs * 2 ** replaced, MAX_PATIENCE_MS);
    const waited = [asked.cached, asked.newer].filter((question) => question !== undefined);
    if (!waited.some(({ askedAt }) => elapsedMs(askedAt) >= patience)) return;
    hung = [...hung, ...waited].slice(-MAX_HUNG);
    asked = {};
    replaced += 1;
    current = make();
  };
  return async (options) => {
    replaceStuck();
    const name = options?.["forceRefresh"] === true ? "newer" : "cached";
    const question = asked[name] ?? ask(options);
    asked = { ...asked, [name]: question };
    try {
      return await firstAnswer(question, hung, patienceMs);
    } catch (error) {
      throw credentialsErrorFrom(error, question.record.last);
    }
  };
}

/** The first answer to any of the questions. Only the newest one may fail: a failure of an older one says less. */
function firstAnswer<Identity>(
  newest: Question<Identity>,
  older: readonly Question<Identity>[],
  patienceMs: number,
): Promise<Identity> {
  return new Promise((resolve, reject) => {
    const questions = [newest, ...older];
    const leave = (): void => {
      clearTimeout(timer);
      for (const { waiters } of questions) waiters.delete(waiter);
    };
    const waiter: Waiter<Identity> = {
      answered: (identity) => {
        leave();
        resolve(identity);
      },
      failed: (error, by) => {
        if (by !== newest) return;
        leave();
        reject(error);
      },
    };
    const timer = setTimeout(() => {
      leave();
      reject(new CredentialsError({ code: "timeout", text: `no credentials within ${patienceMs} ms` }, undefined));
    }, patienceMs);
    for (const { waiters } of questions) waiters.add(waiter);
  });
}
