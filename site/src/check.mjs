import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { isUnreleased, silentPages } from "./unreleased.mjs";

/**
 * What is wrong with a built site, one line each: links, anchors and pictures that lead nowhere, and anything that a browser would
 * load from elsewhere, and pages that say to install what npm does not have yet.
 *
 * @param {string} folder
 * @param {string} [base] the path of the site on its host
 * @returns {string[]}
 */
export function siteProblems(folder, base = "/") {
  const files = new Set(
    readdirSync(folder, { encoding: "utf8", recursive: true }).map((file) => file.replaceAll("\\", "/")),
  );
  const pages = new Map([...files].filter((file) => file.endsWith(".html")).map((file) => [file, read(folder, file)]));
  const anchors = new Map([...pages].map(([file, html]) => [file, new Set(valuesOf(html, "id"))]));
  /** @param {string} from @param {string} url @returns {{ file: string, fragment: string } | undefined} */
  const resolve = (from, url) => {
    const [path = "", fragment = ""] = url.split("#");
    if (path === "") return { file: from, fragment };
    const whole = path.startsWith("/") ? path : posix.join(base, posix.dirname(from), path);
    if (!whole.startsWith(base)) return undefined;
    const file = decodeURIComponent(whole.slice(base.length).replace(/\?.*$/, ""));
    return {
      file: file === "" || file.endsWith("/") ? `${file}index.html` : file,
      fragment: decodeURIComponent(fragment),
    };
  };

  return [...pages]
    .flatMap(([file, html]) => {
      const links = elementsOf(html, "a").flatMap((tag) => valuesOf(tag, "href"));
      const loads = [
        ...elementsOf(html, "(?:img|script|source|iframe|video|audio|embed)").flatMap((tag) => valuesOf(tag, "src")),
        ...elementsOf(html, "link").flatMap((tag) => valuesOf(tag, "href")),
      ];
      return [
        ...links.filter((url) => !isElsewhere(url)).flatMap((url) => linkProblem(file, url, resolve(file, url))),
        ...loads.filter((url) => !url.startsWith("data:")).flatMap((url) => loadProblem(file, url, resolve(file, url))),
      ];
    })
    .concat(styleProblems(folder, files), isUnreleased ? silentPages(pages) : []);

  /** @param {string} file @param {string} url @param {ReturnType<typeof resolve>} target */
  function linkProblem(file, url, target) {
    if (target === undefined || !files.has(target.file)) return [`${file}: the link ${url} leads nowhere`];
    const { fragment } = target;
    if (fragment === "" || anchors.get(target.file)?.has(fragment) === true) return [];
    return [`${file}: the link ${url} leads to no heading of ${target.file}`];
  }

  /** @param {string} file @param {string} url @param {ReturnType<typeof resolve>} target */
  function loadProblem(file, url, target) {
    if (isElsewhere(url)) return [`${file}: a browser would load ${url} from elsewhere`];
    return target !== undefined && files.has(target.file) ? [] : [`${file}: ${url} is missing`];
  }
}

/** @param {string} folder @param {ReadonlySet<string>} files */
function styleProblems(folder, files) {
  return [...files]
    .filter((file) => file.endsWith(".css"))
    .flatMap((file) =>
      [...read(folder, file).matchAll(/url\(\s*["']?(?:https?:)?\/\/[^)]*\)|@import[^;]+/g)].map(
        ([text]) => `${file}: a browser would load ${text} from elsewhere`,
      ),
    );
}

/** Whether a URL names another host, or is not of the web. @param {string} url */
function isElsewhere(url) {
  return /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url);
}

/** The tags that open an element. @param {string} html @param {string} name */
function elementsOf(html, name) {
  return [...html.matchAll(new RegExp(`<${name}\\s[^>]*>`, "g"))].map(([tag]) => tag);
}

/** @param {string} html @param {string} attribute */
function valuesOf(html, attribute) {
  return [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) => unescaped(value));
}

/** @param {string} text */
function unescaped(text) {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

/** @param {string} folder @param {string} file */
function read(folder, file) {
  return readFileSync(join(folder, file), "utf8");
}

/**
 * Exported names that have no heading on the page of their entry point.
 *
 * @param {readonly { name: string, report: string, page: string }[]} entries `report`: the text of its API report. `page`: its HTML,
 *   empty if there is none
 * @returns {string[]}
 */
export function missingNames(entries) {
  return entries.flatMap(({ name, report, page }) => {
    const headings = new Set(
      [...page.matchAll(/<h[1-6][^>]*>([\s\S]*?)<\/h[1-6]>/g)].map(([, html = ""]) =>
        unescaped(html.replace(/<a class="header-anchor"[\s\S]*?<\/a>/g, "").replace(/<[^>]+>/g, ""))
          .replace(/(?:\(\)|<.*>)+/g, "")
          .trim(),
      ),
    );
    return exportedNames(report)
      .filter((exported) => !headings.has(exported))
      .map((exported) => `${exported} of ${name} is not in the reference`);
  });
}

/** The names that a report of API Extractor lists. @param {string} report @returns {string[]} */
export function exportedNames(report) {
  const declared = [
    ...report.matchAll(/^export (?:declare |abstract )*(?:function|class|interface|type|const|enum|namespace) (\w+)/gm),
  ];
  const listed = [...report.matchAll(/^export \{ (?:\w+ as )?(\w+) \}/gm)];
  return [...new Set([...declared, ...listed].map(([, name = ""]) => name))];
}

/**
 * Files that no section of the navigation has.
 *
 * @param {readonly string[]} files
 * @param {readonly import("./navigation.mjs").Section[]} sections
 * @returns {string[]}
 */
export function withoutEntry(files, sections) {
  const entries = new Set(sections.flatMap((section) => section.entries.map(({ file }) => file)));
  return files.filter((file) => !entries.has(file)).map((file) => `${file} is not in the navigation of the site`);
}
