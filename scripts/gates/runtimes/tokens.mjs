import { verify } from "node:crypto";

/** Calls that are in flight when the keys rotate. A host may look for its key late, so the second key may sign these. */
const IN_FLIGHT = 16;

/**
 * What is wrong with the tokens of a rotation: the first half is signed with one key, and the second half with the other.
 *
 * @param {readonly string[]} tokens
 * @param {number} count
 * @param {readonly import("node:crypto").KeyObject[]} publicKeys as the backend says
 * @returns {string[]}
 */
export function tokenProblems(tokens, count, publicKeys) {
  if (tokens.length !== count) return [`signed ${tokens.length} tokens instead of ${count}`];
  const [before, after] = publicKeys;
  const half = count / 2;
  const first = tokens.slice(0, half).filter((token) => !isSignedBy(token, before));
  const forged = first.filter((token) => !isSignedBy(token, after));
  const second = tokens.slice(half).filter((token) => !isSignedBy(token, after));
  return [
    ...(forged.length === 0 ? [] : [`${forged.length} of ${count} tokens do not verify, such as ${forged[0]}`]),
    ...(first.length <= IN_FLIGHT ? [] : [`the second key signed ${first.length} tokens before the rotation`]),
    ...(second.length === 0 ? [] : [`the second key did not sign ${second.length} tokens after the rotation`]),
  ];
}

/** @param {string} token @param {import("node:crypto").KeyObject | undefined} key */
function isSignedBy(token, key) {
  const [header = "", claims = "", signature = ""] = token.split(".");
  if (key === undefined) return false;
  const input = Buffer.from(`${header}.${claims}`);
  return verify("sha256", input, { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
}
