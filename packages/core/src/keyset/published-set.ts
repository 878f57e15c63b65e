import { thumbprintOf } from "../encoding/thumbprint.ts";
import { encodeDocument } from "./document.ts";
import type { ActiveKey, JwksDocument, KeySet, PublishedKey } from "./types.ts";

/**
 * What `createKeySet` returns. The private fields prove that a set was validated: an object of the same shape, a spread
 * copy or a proxy does not have them. They also keep the document with its set, so that both are swapped as one object.
 */
export class PublishedKeySet implements KeySet {
  readonly active: ActiveKey;
  readonly keys: readonly PublishedKey[];
  readonly #byKeyId: ReadonlyMap<string, PublishedKey>;
  readonly #document: JwksDocument;
  readonly #thumbprints: ReadonlyMap<string, string>;

  constructor(active: ActiveKey, keys: readonly PublishedKey[]) {
    this.active = active;
    this.keys = Object.freeze([...keys]);
    this.#byKeyId = new Map(keys.map((key) => [key.keyId, key]));
    this.#document = encodeDocument(this.keys);
    this.#thumbprints = new Map(keys.map((key) => [key.keyId, thumbprintOf(key.publicKey)]));
    Object.freeze(this);
  }

  find(keyId: string): PublishedKey | undefined {
    return this.#byKeyId.get(keyId);
  }

  static isMade(value: unknown): value is PublishedKeySet {
    return typeof value === "object" && value !== null && #document in value;
  }

  /** RFC 7638 thumbprints by kid. Computed once with the set, so that requests need no hashing. */
  static thumbprintsOf(set: PublishedKeySet): ReadonlyMap<string, string> {
    return set.#thumbprints;
  }

  static documentOf(set: PublishedKeySet): JwksDocument {
    return set.#document;
  }
}
