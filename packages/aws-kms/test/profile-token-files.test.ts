import { expect, test } from "vitest";
import { tokenFilesIn } from "../src/profile-token-files.ts";

const FILE = "web_identity_token_file";

test.each<[what: string, texts: readonly string[], files: readonly string[]]>([
  ["no file", [], []],
  ["an empty file", [""], []],
  ["the profile in use", [`[default]\n${FILE} = /a\n[profile op]\n${FILE} = /b\n`], ["/b"]],
  ["a name in quotes", [`[profile "op"]\n${FILE}=/a`], ["/a"]],
  ["a section of the credentials file", ["", `[op]\n${FILE}=/a`], ["/a"]],
  ["a file that is named twice, of which the last counts", [`[profile op]\n${FILE}=/a`, `[op]\n${FILE}=/b`], ["/b"]],
  ["a comment, and one after the path", [`[profile op] # ours\n# ${FILE}=/a\n${FILE} = /b#1 ; the path\n`], ["/b#1"]],
  ["lines that end as on Windows", [`[profile op]\r\n${FILE} = /a\r\n`], ["/a"]],
  ["a path that is empty, and a name that is", [`[profile op]\n${FILE} =\n= /a\n`], []],
  ["text before the first section, and in one that is none", [`${FILE}=/a\n[]\n${FILE}=/b`], []],
  [
    "sources of sources",
    [`[profile op]\nsource_profile=b\n[profile b]\n${FILE}=/b\nsource_profile=c\n[profile c]\n${FILE}=/c`],
    ["/b", "/c"],
  ],
  ["a profile that is its own source", [`[profile op]\n${FILE}=/a\nsource_profile=op`], ["/a"]],
  ["sources that name each other", [`[op]\nsource_profile=b\n[b]\n${FILE}=/b\nsource_profile=op`], ["/b"]],
  ["a source that is not there", [`[op]\nsource_profile=b`], []],
])("the token's files are found for %s", (_what, texts, files) => {
  expect(tokenFilesIn(texts, "op")).toEqual(files);
});
