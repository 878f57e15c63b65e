import { resolve } from "node:path";
import { openConfigKeys } from "../config/config-keys.ts";
import { loadConfig } from "../config/load-config.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { printable } from "../terminal/printable.ts";
import { tableText } from "../terminal/table.ts";
import type { JwksFlags } from "./command.ts";
import { publishedNow, type Published } from "./published.ts";
import { staticFiles } from "./static-files.ts";
import { writeFiles } from "./write-files.ts";

export async function runJwks(context: CliContext, flags: JwksFlags): Promise<ExitCode> {
  if (flags.etag === true && (flags.out !== undefined || flags.json === true)) {
    throw new CliError(EXIT.usage, "flags", "--etag goes neither with --out nor with --json");
  }
  const loaded = await loadConfig(context, flags.config);
  const { keys, close } = await openConfigKeys(loaded, context);
  try {
    const published = await publishedNow(loaded, keys);
    if (flags.out !== undefined) await writeStatic(context, published, flags.out);
    else if (flags.json !== true) printDocument(context, published, flags);
    if (flags.json === true) context.output.json(asJson(published));
    return EXIT.ok;
  } finally {
    await close();
  }
}

function printDocument({ output }: CliContext, { response }: Published, { etag }: JwksFlags): void {
  if (etag === true) return output.line(response.headers["ETag"]);
  output.write(response.body);
  // A prompt right after the document would be hard to read. Everything else gets exactly the bytes.
  if (output.isTerminal) output.line();
}

async function writeStatic({ messages, cwd }: CliContext, published: Published, out: string): Promise<void> {
  const { endpoint, response, keys, nextChange } = published;
  const files = staticFiles({
    pathname: endpoint.pathname,
    body: response.body,
    contentType: response.headers["Content-Type"] ?? "",
    cacheControl: response.headers["Cache-Control"] ?? "",
  });
  await writeFiles(resolve(cwd, out), files);
  const { colors } = messages;
  messages.line(`Wrote ${files.length} files for ${endpoint.jwksUri}`);
  messages.line(
    tableText(
      files.map(({ path }) => [`  ${printable(path)}`]),
      messages,
    ),
  );
  messages.line();
  const roles = keys.map(({ kid, role }) => [`  ${printable(kid)}`, colors.dim(role)]);
  messages.line(tableText(roles, messages));
  messages.line();
  const when =
    nextChange === null ? "whenever the keys change" : `at ${nextChange.toISOString()}: the key set changes then`;
  messages.line(`Upload them now. Run this command again ${when}.`);
  messages.line(`Then: signpost check ${endpoint.jwksUri}`);
}

function asJson({ endpoint, response, keys, nextChange }: Published): object {
  return {
    jwksUri: endpoint.jwksUri,
    etag: response.headers["ETag"],
    cacheControl: response.headers["Cache-Control"],
    contentType: response.headers["Content-Type"],
    keys,
    nextChange: nextChange?.toISOString() ?? null,
    document: Buffer.from(response.body).toString(),
  };
}
