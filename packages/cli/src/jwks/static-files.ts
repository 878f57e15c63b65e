import { hash } from "node:crypto";

/** A document with the headers that a host must send with it. */
export interface StaticDocument {
  /** The path on the host: `/jwks`. */
  readonly pathname: string;
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly cacheControl: string;
}

/** A file below the folder of `--out`. */
export interface StaticFile {
  readonly path: string;
  readonly content: Uint8Array | string;
}

/** The first line of each file that a person could have written too. Only a file that has it is replaced. */
export const MARK = "# Written by signpost jwks. Changes are lost.";

/** The line of `_headers` by which the document is known: without any other mark, it must be exactly what was written. */
export function documentMark(body: Uint8Array): string {
  return `# Document with the SHA-256 ${hash("sha256", body, "hex")}`;
}

/** The file of the folder that has this line. */
export const HEADER_RULES = "public/_headers";

/** What the folder of `--out` contains. */
export function staticFiles(document: StaticDocument): readonly StaticFile[] {
  return [
    { path: `public${document.pathname}`, content: document.body },
    { path: HEADER_RULES, content: headerRules(document) },
    { path: "s3.sh", content: uploadToS3(document) },
    { path: "gcs.sh", content: uploadToGcs(document) },
  ];
}

/** Netlify and Cloudflare Pages read the same format. */
function headerRules({ pathname, body, contentType, cacheControl }: StaticDocument): string {
  return lines(
    MARK,
    documentMark(body),
    pathname,
    `  Content-Type: ${contentType}`,
    `  Cache-Control: ${cacheControl}`,
  );
}

function uploadToS3({ pathname, contentType, cacheControl }: StaticDocument): string {
  return script(
    `aws s3 cp "$folder/public${pathname}" "s3://$1${pathname}"`,
    `--content-type '${contentType}'`,
    `--cache-control '${cacheControl}'`,
  );
}

function uploadToGcs({ pathname, contentType, cacheControl }: StaticDocument): string {
  return script(
    `gcloud storage cp "$folder/public${pathname}" "gs://$1${pathname}"`,
    `--content-type='${contentType}'`,
    `--cache-control='${cacheControl}'`,
  );
}

function script(...command: readonly string[]): string {
  return lines(
    "#!/bin/sh",
    MARK,
    'test $# -eq 1 || { echo "usage: $0 BUCKET" >&2; exit 2; }',
    'folder=$(dirname "$0")',
    command.join(" \\\n  "),
  );
}

function lines(...texts: readonly string[]): string {
  return `${texts.join("\n")}\n`;
}
