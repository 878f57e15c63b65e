import { encodeDocument } from "./document.ts";
import type { ActiveKey, JwksDocument, KeySet, PublishedKey } from "./types.ts";

/**
 * What `createKeySet` returns. Private fields make the mark of a validated set: an object of the same shape, a spread
 * copy or a proxy does not carry it. They also keep the document with its set, so that the two are one object to swap.
 */
export class PublishedKeySet implements KeySet {
  readonly active: ActiveKey;
  readonly keys: readonly PublishedKey[];
  readonly #byKeyId: ReadonlyMap<string, PublishedKey>;
  readonly #document: JwksDocument;

  constructor(active: ActiveKey, keys: readonly PublishedKey[]) {
    this.active = active;
    this.keys = Object.freeze([...keys]);
    this.#byKeyId = new Map(keys.map((key) => [key.keyId, key]));
    this.#document = encodeDocument(this.keys);
    Object.freeze(this);
  }

  find(keyId: string): PublishedKey | undefined {
    return this.#byKeyId.get(keyId);
  }

  static isMade(value: unknown): value is PublishedKeySet {
    return typeof value === "object" && value !== null && #document in value;
  }

  static documentOf(set: PublishedKeySet): JwksDocument {
    return set.#document;
  }
}
