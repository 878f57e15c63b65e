/** Where undici 7 and the `fetch` of Node keep the dispatcher for requests without one. Each puts an Agent there when it loads. */
const GLOBAL_DISPATCHER = Symbol.for("undici.globalDispatcher.1");

/**
 * Whether the program has set a dispatcher for all requests, such as one for a proxy: with `setGlobalDispatcher` of undici, or with
 * `NODE_USE_ENV_PROXY`. If that is not certain, the answer is yes.
 */
export function hasGlobalDispatcher(): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  return typeof dispatcher === "object" && dispatcher !== null && !isPlainAgent(dispatcher);
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
