/**
 * URL of a program of this package, by its name below `dist`. Threads and child processes are started from a file and get
 * no loader of the application, so they always run JavaScript: the file beside this one, or, where the sources themselves
 * are running, the one that was built last.
 */
export function compiledFile(name: "worker" | "child"): URL {
  const base = import.meta.url.endsWith(".ts") ? "../../dist/" : "./";
  return new URL(`${base}${name}.js`, import.meta.url);
}
