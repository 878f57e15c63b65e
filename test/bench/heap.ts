import { getHeapSnapshot, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Objects and bytes of the heap, by the class that they show in a heap snapshot. */
export type HeapCount = ReadonlyMap<string, { readonly objects: number; readonly bytes: number }>;

interface SnapshotJson {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

/** Types of nodes that users make. Code, shapes and the like grow while V8 optimizes, even if nothing is kept. */
const COUNTED_TYPES = new Set(["object", "closure", "array", "string", "concatenated string", "native", "bigint"]);

/** After a full garbage collection. */
export function usedHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Takes a heap snapshot and counts it. Stops the process for a while. */
export async function countHeap(): Promise<HeapCount> {
  collectGarbage();
  const chunks: Buffer[] = [];
  for await (const chunk of getHeapSnapshot()) chunks.push(chunk as Buffer);
  const { snapshot, nodes, strings } = JSON.parse(Buffer.concat(chunks).toString()) as SnapshotJson;
  const fields = snapshot.meta.node_fields;
  const types = snapshot.meta.node_types[0];
  const [typeAt, nameAt, sizeAt] = [fields.indexOf("type"), fields.indexOf("name"), fields.indexOf("self_size")];
  const counts = new Map<string, { objects: number; bytes: number }>();
  for (let node = 0; node < nodes.length; node += fields.length) {
    const type = types[nodes[node + typeAt] ?? 0] ?? "";
    if (!COUNTED_TYPES.has(type)) continue;
    const name = type === "object" ? (strings[nodes[node + nameAt] ?? 0] ?? "") : `(${type})`;
    const count = counts.get(name) ?? { objects: 0, bytes: 0 };
    counts.set(name, { objects: count.objects + 1, bytes: count.bytes + (nodes[node + sizeAt] ?? 0) });
  }
  return counts;
}

/** The classes with at least this many more objects, the largest growth first. */
export function grown(before: HeapCount, after: HeapCount, atLeast: number): { name: string; objects: number }[] {
  return [...after]
    .map(([name, { objects }]) => ({ name, objects: objects - (before.get(name)?.objects ?? 0) }))
    .filter(({ objects }) => objects >= atLeast)
    .toSorted((a, b) => b.objects - a.objects);
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
