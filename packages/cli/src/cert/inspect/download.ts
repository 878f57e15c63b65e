import { isOnLoopback } from "../../network/host.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT } from "../../program/exit-codes.ts";

/** More than any chain or key set needs. */
export const MAX_BYTES = 1_048_576;
const REQUEST_MS = 10_000;

/** The body behind a URL, and its host. Plain http is for the loopback interface only, and no redirect is followed. */
export async function download(
  source: string,
  { signal, during }: CliContext,
): Promise<{ readonly host: string; readonly bytes: Uint8Array }> {
  const url = URL.canParse(source) ? new URL(source) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "") {
    throw new CliError(EXIT.usage, "url", "The source is no URL, or has a user name or password");
  }
  if (url.protocol === "http:" && !isOnLoopback(source)) {
    throw new CliError(EXIT.usage, "url", "http: works on the loopback interface only", { hint: "Write https://" });
  }
  const ending = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]);
  return during(`Asking ${url.host}`, async () => {
    try {
      const response = await fetch(url, { redirect: "manual", signal: ending });
      if (response.status !== 200) throw away(url, `it answered ${response.status}`);
      return { host: url.host, bytes: await bodyOf(response, url) };
    } catch (cause) {
      if (cause instanceof CliError) throw cause;
      throw away(url, reasonOf(cause), cause);
    }
  });
}

async function bodyOf({ body }: Response, url: URL): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_BYTES) throw away(url, `its answer is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "no reason";
  if (error.name === "TimeoutError") return `no answer within ${REQUEST_MS / 1000} seconds`;
  const code: unknown = Reflect.get(Object(error.cause), "code");
  return typeof code === "string" ? code : error.message;
}

function away(url: URL, why: string, cause?: unknown): CliError {
  return new CliError(EXIT.backend, "no_answer", `${url.host}: ${why}`, { cause });
}
