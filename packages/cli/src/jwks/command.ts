import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asText, CONFIG_FLAG, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost jwks`. */
export interface JwksFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly etag?: boolean | undefined;
  readonly out?: string | undefined;
}

export const jwksCommand: Command<CliContext> = buildCommand<JwksFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runJwks),
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      etag: { kind: "boolean", brief: "Print the ETag instead of the document", optional: true, withNegated: false },
      out: {
        kind: "parsed",
        brief: "Write the document and the header rules of static hosts into this folder",
        parse: asText,
        optional: true,
      },
      json: JSON_FLAG,
    },
  },
  docs: {
    brief: "Print the key set of the configuration, or write it for a static host",
    fullDescription: helpText({
      description: [
        "Opens the keys of the configuration and prints the JWK Set: the bytes that the endpoint serves, without a line",
        "break at the end. With --json, it prints the keys with their roles, the ETag, the Cache-Control and the time of",
        "the next change. The keys sign nothing.",
        "",
        "With --out, the folder gets public/ with the document at its path and a _headers file for Netlify and Cloudflare",
        "Pages, and s3.sh and gcs.sh, which upload it with the right headers. A static host serves what you uploaded, so",
        "upload again at each change. It computes its own ETag.",
      ].join("\n"),
      examples: [
        ["signpost jwks", "prints the document"],
        ["signpost jwks --etag", "prints its ETag, to compare with what a host serves"],
        ["signpost jwks --out site && sh site/s3.sh my-bucket", "publishes the document in a bucket"],
      ],
    }),
  },
});
