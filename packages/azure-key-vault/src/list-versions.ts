import { SignerError } from "@signpost/core";
import { incompleteAnswer, memberOf, type CallBounds } from "@signpost/core/adapter";
import { readAttributes, type KeyVersion } from "./answers.ts";
import { callOnce } from "./call.ts";
import { describeCall } from "./errors.ts";
import type { Place } from "./open.ts";

/** A version whose creation time is known. */
export interface ListedVersion extends KeyVersion {
  readonly created: Date;
}

/** More versions than any rotation makes. The service puts 25 in a page. */
const MAX_VERSIONS = 2500;
const MAX_PAGES = 100;

/** Lists all versions of a key, the oldest first. */
export async function listVersions(place: Place, bounds: CallBounds): Promise<readonly ListedVersion[]> {
  const { key, vault } = place.name;
  const call = describeCall(`list the versions of ${key}`, vault);
  const found = new Map<string, ListedVersion>();
  let nextLink: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const input = { key, nextLink };
    const { signal } = bounds;
    const answer = await callOnce(call, bounds, () => place.api.listKeyVersions(input, { signal }));
    // If a version is created meanwhile, the next page can begin with one of this page.
    for (const version of readPage(answer, place, call)) found.set(version.keyVersion, version);
    if (found.size > MAX_VERSIONS) {
      throw new SignerError("integrity", `${call}: there are more than ${MAX_VERSIONS} versions`);
    }
    const next = readNextLink(memberOf(answer, "nextLink"), place, call);
    if (next === undefined) return [...found.values()].toSorted(byAge);
    if (next === nextLink) throw new SignerError("integrity", `${call}: nextLink leads to the same page again`);
    nextLink = next;
  }
  throw new SignerError("integrity", `${call}: there are more than ${MAX_PAGES} pages`);
}

function readPage(answer: unknown, { kids }: Place, call: string): readonly ListedVersion[] {
  const value = memberOf(answer, "value");
  if (!Array.isArray(value)) throw incompleteAnswer(call, "value");
  return value.map((item: unknown) => {
    const keyVersion = kids.versionOf(memberOf(item, "kid"), call);
    const version = readAttributes(memberOf(item, "attributes"), keyVersion, call);
    const { created } = version;
    if (created === undefined) throw incompleteAnswer(call, "created");
    return { ...version, created };
  });
}

/** The link to the next page. A token is sent there, so it must not leave the vault or the list. */
function readNextLink(link: unknown, { kids, name }: Place, call: string): string | undefined {
  if (link === undefined || link === null || link === "") return undefined;
  const url = typeof link === "string" && URL.canParse(link) ? new URL(link) : undefined;
  const path = `/keys/${name.key}/versions`.toLowerCase();
  if (typeof link === "string" && url !== undefined && kids.isHere(url) && url.pathname.toLowerCase() === path) {
    return link;
  }
  throw new SignerError("integrity", `${call}: nextLink leads elsewhere`);
}

/** Times are whole seconds, so that two versions may have the same. */
function byAge(a: ListedVersion, b: ListedVersion): number {
  return a.created.getTime() - b.created.getTime() || (a.keyVersion < b.keyVersion ? -1 : 1);
}
