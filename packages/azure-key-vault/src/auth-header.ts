/** One challenge of a `WWW-Authenticate` header. */
export interface AuthChallenge {
  /** In lower case. */
  readonly scheme: string;
  /** By name in lower case. Of two with the same name, the first. */
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
/** Without quotes, values may contain more than RFC 9110 allows, because servers send URLs in them. */
const PARAMETER = new RegExp(`(${TOKEN})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]*))`, "y");
const SCHEME = new RegExp(`${TOKEN}(?=[ \\t,]|$)`, "y");
const OTHER = new RegExp(`${TOKEN}|[^]`, "y");

/** Reads the challenges of a header, RFC 9110 section 11.6.1. What is not one is skipped. */
export function readAuthChallenges(header: string): readonly AuthChallenge[] {
  const found: { readonly scheme: string; readonly parameters: Map<string, string> }[] = [];
  for (let at = 0; at < header.length;) {
    const parameter = matchAt(PARAMETER, header, at);
    const scheme = parameter === null ? matchAt(SCHEME, header, at)?.[0] : undefined;
    if (parameter !== null) {
      const [, name = "", quoted, plain = ""] = parameter;
      const known = found.at(-1)?.parameters;
      if (known?.has(name.toLowerCase()) === false) known.set(name.toLowerCase(), unquoted(quoted) ?? plain);
    } else if (scheme !== undefined) {
      found.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
    }
    const { length } = parameter?.[0] ?? scheme ?? matchAt(OTHER, header, at)?.[0] ?? " ";
    at += length;
  }
  return found;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function unquoted(text: string | undefined): string | undefined {
  return text?.replace(/\\(.)/g, "$1");
}
