/**
 * URL of a compiled file of this package, by its path below `src` without extension. Threads and child
 * processes are started from a file and get no loader of the application, so they always run JavaScript:
 * the file beside this one, or, where the sources themselves are running, the one that `tsc -b` made of it.
 */
export function compiledFile(path: string): URL {
  const base = import.meta.url.endsWith(".ts") ? "../dist/" : "./";
  return new URL(`${base}${path}.js`, import.meta.url);
}
