import { elapsedMs, type Instant, readInstant } from "@signpost/core/adapter";
import { CredentialsError, credentialsErrorFrom, nameOfSource } from "./credential-errors.ts";
import type { Row } from "./error-table.ts";
import { dropRequests, recordRequests, type RequestRecord } from "./credential-requests.ts";

/** Fetches credentials, in the form that the SDK calls. */
export type CredentialProvider<Identity> = (options?: Record<string, unknown>) => Promise<Identity>;

/** A pending call of a provider. */
interface Question<Identity> {
  readonly askedAt: Instant;
  /** Shared by the pending questions to a provider, since it may answer them with the same requests. */
  readonly record: RequestRecord;
  readonly waiters: Set<Waiter<Identity>>;
  /** Nothing waits for it from now on, except those who wait already. */
  isLeft: boolean;
}

interface Waiter<Identity> {
  answered(identity: Identity): void;
  failed(error: unknown, by: Question<Identity>): void;
}

interface Asked<Identity> {
  readonly cached?: Question<Identity> | undefined;
  readonly newer?: Question<Identity> | undefined;
}

/** The longest wait for one provider before the next one is made. Milliseconds. */
const MAX_PATIENCE_MS = 30_000;
/** How many hung providers may still deliver an answer. */
const MAX_HUNG = 8;
/** For a call that goes on after its signer was closed. */
const NOT_USED: Row = { code: "unavailable", text: "no credentials: the client is closed" };

/**
 * Asks the provider that `make` returns, and waits for at most `patienceMs`. If a request of an SDK provider hangs,
 * every later call waits for that request. So the call after a timeout asks a new provider and uses the first answer
 * that arrives, so that a slow source still helps. While none answers, new providers are made less and less often.
 *
 * The requests of a question are dropped once nothing can come of it: when a newer one has been answered, when too many are
 * hung, and when `ended` aborts.
 *
 * Rejects with `CredentialsError`.
 */
export function createCredentialSource<Identity>(
  make: () => CredentialProvider<Identity>,
  patienceMs: number,
  ended?: AbortSignal,
): CredentialProvider<Identity> {
  let current = make();
  /** Questions to the current provider: for cached credentials, and for newer ones. */
  let asked: Asked<Identity> = {};
  /** Questions to earlier providers, the oldest first. */
  let hung: readonly Question<Identity>[] = [];
  /** How many providers were replaced since the last answer. */
  let replaced = 0;

  const waited = (): readonly Question<Identity>[] =>
    [asked.cached, asked.newer].filter((question) => question !== undefined);
  const close = (question: Question<Identity>): void => {
    asked = {
      ...(asked.cached !== question && { cached: asked.cached }),
      ...(asked.newer !== question && { newer: asked.newer }),
    };
    hung = hung.filter((other) => other !== question);
  };
  /** These are not waited for any more, except by those who wait already. */
  const leave = (questions: readonly Question<Identity>[]): void => {
    hung = hung.filter((other) => !questions.includes(other));
    for (const question of questions) {
      question.isLeft = true;
      dropIfUseless(question);
    }
  };
  ended?.addEventListener("abort", () => {
    for (const question of [asked.cached, asked.newer, ...hung])
      if (question !== undefined) dropRequests(question.record);
  });
  /** Later calls ask this provider, and wait for no question to the one before. */
  const replaceBy = (provider: CredentialProvider<Identity>): void => {
    hung = [...hung, ...waited()];
    asked = {};
    current = provider;
  };
  const ask = (options: Record<string, unknown> | undefined): Question<Identity> => {
    const record = (asked.cached ?? asked.newer)?.record ?? { last: undefined, pending: new Set() };
    const question: Question<Identity> = { askedAt: readInstant(), record, waiters: new Set(), isLeft: false };
    const provider = current;
    recordRequests(record, () => provider(options)).then(
      (identity) => {
        close(question);
        for (const waiter of question.waiters) waiter.answered(identity);
        if (question.isLeft) return;
        // A provider that answers has cached the credentials.
        if (current !== provider) replaceBy(provider);
        replaced = 0;
        leave(hung);
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
    if (!waited().some(({ askedAt }) => elapsedMs(askedAt) >= patience)) return;
    replaceBy(make());
    leave(hung.slice(0, -MAX_HUNG));
    replaced += 1;
  };
  return async (options) => {
    if (ended?.aborted === true) throw new CredentialsError(NOT_USED, undefined);
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

function dropIfUseless<Identity>({ isLeft, waiters, record }: Question<Identity>): void {
  if (isLeft && waiters.size === 0) dropRequests(record);
}

/** The first answer to any of the questions. Rejects only if the newest one fails, because older failures say less. */
function firstAnswer<Identity>(
  newest: Question<Identity>,
  older: readonly Question<Identity>[],
  patienceMs: number,
): Promise<Identity> {
  return new Promise((resolve, reject) => {
    const questions = [newest, ...older];
    const leave = (): void => {
      clearTimeout(timer);
      for (const question of questions) {
        question.waiters.delete(waiter);
        dropIfUseless(question);
      }
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
      const { last } = newest.record;
      const silent = last !== undefined && last.status === undefined ? `: ${nameOfSource(last)} did not answer` : "";
      const text = `no credentials within ${patienceMs} ms${silent}`;
      reject(new CredentialsError({ code: "timeout", text }, undefined));
    }, patienceMs);
    for (const { waiters } of questions) waiters.add(waiter);
  });
}
