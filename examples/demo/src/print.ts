const INDENT = "   ";
const bold = (text: string): string =>
  process.stdout.isTTY && !process.env["NO_COLOR"] ? `\x1b[1m${text}\x1b[0m` : text;

// If the reader ends (`| head`), the demo must still remove its keys.
process.stdout.on("error", () => {});

let steps = 0;

/** Prints the title of the next step. */
export function step(title: string): void {
  steps += 1;
  console.log(`\n${bold(`${steps}. ${title}`)}`);
}

export function say(text: string): void {
  console.log(`${INDENT}${text}`);
}

export function show(name: string, value: string): void {
  console.log(`${INDENT}${name} ${value}`);
}

/** Shows the header and claims of a JWT, without verifying it, and the size of its signature. */
export function showToken(name: string, token: string): void {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const decode = (part: string): string => Buffer.from(part, "base64url").toString();
  show(name, `${token.slice(0, 60)}…`);
  show("  header   ", decode(header));
  show("  claims   ", decode(claims));
  show("  signature", `${Buffer.from(signature, "base64url").length} bytes`);
}

/** Headers that do not matter here. */
const LEFT_OUT = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);

/** Sends a request and shows it with the response. */
export async function showExchange(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<Response> {
  show(">", `${method} ${new URL(url).pathname}`);
  for (const [name, value] of Object.entries(headers)) show(">", `${name}: ${value}`);
  const response = await fetch(url, { method, headers });
  show("<", `${response.status} ${response.statusText}`);
  for (const [name, value] of response.headers) if (!LEFT_OUT.has(name)) show("<", `${name}: ${value}`);
  const body = await response.text();
  if (body !== "") show("<", formatJson(body));
  return response;
}

/** Indented JSON, with lists of one word on one line. */
function formatJson(body: string): string {
  const text = JSON.stringify(JSON.parse(body), null, 2).replaceAll(/\[\s+("[^"]*")\s+\]/g, "[$1]");
  return text.replaceAll("\n", `\n${INDENT}  `);
}
