import { memberOf, repeatsSecret } from "@signpost/core/adapter";

const MAX_DEPTH = 5;
const MEMBERS = ["message", "stack", "name", "code", "syscall"] as const;

/** The error of a client, or another one in its place if it contains the token. A token can have any form. */
export function withoutToken(error: unknown, token: string | undefined): unknown {
  if (token === undefined || !contains(error, token, 0)) return error;
  const code = memberOf(error, "code");
  const isClean = typeof code === "string" && !repeatsSecret(code, [token]);
  return Object.assign(new Error("the message of the client contains the token"), isClean ? { code } : {});
}

function contains(error: unknown, token: string, depth: number): boolean {
  if (typeof error === "string") return repeatsSecret(error, [token]);
  if (typeof error !== "object" || error === null || depth > MAX_DEPTH) return false;
  const texts = MEMBERS.map((name) => memberOf(error, name));
  return texts.some((text) => contains(text, token, MAX_DEPTH)) || contains(memberOf(error, "cause"), token, depth + 1);
}
