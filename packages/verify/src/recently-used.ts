/** The values that were used last, up to a number. */
export interface RecentlyUsed<Value> {
  /** Also counts as a use. */
  get(key: string): Value | undefined;
  /** Where that makes one too many, the one that was not used longest is dropped and returned. */
  set(key: string, value: Value): readonly [key: string, value: Value] | undefined;
}

interface Node<Value> {
  readonly key: string;
  value: Value;
  before: Node<Value> | undefined;
  after: Node<Value> | undefined;
}

/**
 * In the order of use, by a list through the entries. A Map alone keeps an order too, but taking a key out and adding it again
 * leaves a gap each time: in one of 10,000 entries, which is cleaned rarely, finding a key that is used often took 60 µs.
 */
export function createRecentlyUsed<Value>(capacity: number): RecentlyUsed<Value> {
  const nodes = new Map<string, Node<Value>>();
  let oldest: Node<Value> | undefined;
  let newest: Node<Value> | undefined;

  function unlink(node: Node<Value>): void {
    if (node.before === undefined) oldest = node.after;
    else node.before.after = node.after;
    if (node.after === undefined) newest = node.before;
    else node.after.before = node.before;
  }

  function append(node: Node<Value>): void {
    node.before = newest;
    node.after = undefined;
    if (newest === undefined) oldest = node;
    else newest.after = node;
    newest = node;
  }

  function use(node: Node<Value>): void {
    if (node === newest) return;
    unlink(node);
    append(node);
  }

  return {
    get(key) {
      const node = nodes.get(key);
      if (node !== undefined) use(node);
      return node?.value;
    },
    set(key, value) {
      const known = nodes.get(key);
      if (known !== undefined) {
        known.value = value;
        use(known);
        return undefined;
      }
      const node: Node<Value> = { key, value, before: undefined, after: undefined };
      nodes.set(key, node);
      append(node);
      if (nodes.size <= capacity || oldest === undefined) return undefined;
      const dropped = oldest;
      unlink(dropped);
      nodes.delete(dropped.key);
      return [dropped.key, dropped.value];
    },
  };
}
