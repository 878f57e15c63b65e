import { afterEach, describe, expect, test, vi } from "vitest";
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
  expect(tokenFilesIn(texts, "op")).toEqual(files.map((path) => ({ member: FILE, path })));
});

describe("the token is found that", () => {
  afterEach(() => vi.unstubAllEnvs());
  // SHA-1 and SHA-256 of "corp".
  const SSO = "/srv/op/.aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
  test.each<[what: string, profile: string, member: string, path: string]>([
    ["`aws sso login` keeps for a session", "sso_session = corp", "sso_session", SSO],
    ["it keeps for an address", "sso_start_url = corp", "sso_start_url", SSO],
    ["it keeps for a session, which counts", "sso_start_url = x\nsso_session = corp", "sso_session", SSO],
    [
      "`aws login` keeps",
      "login_session = corp",
      "login_session",
      "/cache/19f4c684a3ff4f2dfa73b8d9098257cfb08e3da6b5ac7f86aa3aa36537018265.json",
    ],
  ])("%s", (_what, profile, member, path) => {
    vi.stubEnv("HOME", "/srv/op");
    vi.stubEnv("AWS_LOGIN_CACHE_DIRECTORY", "/cache");
    expect(tokenFilesIn([`[profile op]\n${profile}\n`], "op")).toEqual([{ member, path }]);
  });

  test("`aws login` keeps in its own folder", () => {
    vi.stubEnv("AWS_LOGIN_CACHE_DIRECTORY", undefined);
    const [file] = tokenFilesIn(["[op]\nlogin_session = corp"], "op");
    expect(file?.path).toMatch(/\/\.aws\/login\/cache\/[0-9a-f]{64}\.json$/);
  });
});
