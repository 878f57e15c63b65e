/** Where undici 7 and the `fetch` of Node before 26 keep the dispatcher for requests without one. Each puts an Agent there. */
const OF_UNDICI_7 = Symbol.for("undici.globalDispatcher.1");

/** Where undici 8 and the `fetch` of Node 26 keep it. They put a wrapper of it in the other place. */
const OF_UNDICI_8 = Symbol.for("undici.globalDispatcher.2");

/**
 * Whether the program has set a dispatcher for all requests, such as one for a proxy: with `setGlobalDispatcher` of undici, or with
 * `NODE_USE_ENV_PROXY`. If that is not certain, the answer is yes.
 */
export function hasGlobalDispatcher(): boolean {
  const [older, newer] = [objectAt(OF_UNDICI_7), objectAt(OF_UNDICI_8)];
  if (newer !== undefined && !isPlainAgent(newer)) return true;
  if (older === undefined || isPlainAgent(older)) return false;
  return newer === undefined || !isWrapper(older);
}

function objectAt(place: symbol): object | undefined {
  const value: unknown = Reflect.get(globalThis, place);
  return typeof value === "object" && value !== null ? value : undefined;
}

function isWrapper({ constructor }: object): boolean {
  return nameOf(constructor) === "Dispatcher1Wrapper";
}

/** An Agent without options, and without the interceptors that `compose` adds. */
function isPlainAgent(dispatcher: object): boolean {
  const { constructor, dispatch } = dispatcher as { constructor?: unknown; dispatch?: unknown };
  const prototype: unknown = Object.getPrototypeOf(dispatcher);
  const options = hidden(dispatcher, "options");
  return (
    nameOf(constructor) === "Agent" &&
    dispatch === (prototype as { dispatch?: unknown }).dispatch &&
    nameOf(hidden(dispatcher, "factory")) === "defaultFactory" &&
    typeof options === "object" &&
    options !== null &&
    Object.values(options).every((value) => value === undefined || value === Number.POSITIVE_INFINITY)
  );
}

function hidden(target: object, description: string): unknown {
  const symbol = Object.getOwnPropertySymbols(target).find((own) => own.description === description);
  return symbol === undefined ? undefined : Reflect.get(target, symbol);
}

function nameOf(value: unknown): string | undefined {
  return typeof value === "function" ? value.name : undefined;
}
