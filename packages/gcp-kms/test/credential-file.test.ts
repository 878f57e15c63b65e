import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type * as adapter from "@signpost/core/adapter";
import { credentialFileAnswers, fileInTime } from "../src/credential-file.ts";
import { untilFilesAnswer } from "../src/source-files.ts";

const state = vi.hoisted(() => ({ reads: [] as unknown[][], read: async (): Promise<unknown> => new Uint8Array() }));
vi.mock("@signpost/core/adapter", async (load) => ({
  ...(await load<typeof adapter>()),
  readRegularFile: (...given: unknown[]) => {
    state.reads.push(given);
    return state.read();
  },
}));

const VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS";
const LOWER = "google_application_credentials";
beforeEach(() => {
  state.reads.length = 0;
  state.read = async () => new Uint8Array();
  vi.stubEnv(VARIABLE, "");
  vi.stubEnv(LOWER, "");
  vi.stubEnv("CLOUDSDK_CONFIG", "");
  vi.stubEnv("HOME", "/op");
  vi.stubEnv("GOOGLE_API_CERTIFICATE_CONFIG", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

describe("the file of the environment", () => {
  const OF_GCLOUD = "gcloud/application_default_credentials.json";

  test.each<[what: string, configured: string, home: string | undefined, paths: readonly string[]]>([
    ["the usual one", "", "/op", [`/op/.config/${OF_GCLOUD}`]],
    [
      "the configured one, then the usual one",
      "/etc/gcloud",
      "/op",
      ["/etc/gcloud/application_default_credentials.json", `/op/.config/${OF_GCLOUD}`],
    ],
    ["none without a home", "", "", []],
    ["none without a variable for it", "", undefined, []],
  ])("without a variable is gcloud's: %s", async (_what, configured, home, paths) => {
    vi.stubEnv("CLOUDSDK_CONFIG", configured);
    vi.stubEnv("HOME", home);
    await credentialFileAnswers();
    vi.stubEnv(VARIABLE, undefined);
    vi.stubEnv(LOWER, undefined);
    await credentialFileAnswers();
    expect(state.reads.map(([, path]) => path)).toEqual([...paths, ...paths]);
  });

  test.each([
    ["/a", "", "/a"],
    ["", "/b", "/b"],
    ["/a", "/b", "/a"],
  ])("of the variables %j and %j is %s, of at most 1 MiB", async (upper, lower, path) => {
    vi.stubEnv(VARIABLE, upper);
    vi.stubEnv(LOWER, lower);
    await credentialFileAnswers();
    expect(state.reads).toEqual([[VARIABLE, path, 1_048_576]]);
  });

  test("is waited for, and what is wrong with it is left to the SDK", async () => {
    vi.stubEnv(VARIABLE, "/a");
    let fail = (_error: Error): void => undefined;
    state.read = () => new Promise((_resolve, reject) => (fail = reject));
    let isOver = false;
    const waiting = credentialFileAnswers().then(() => (isOver = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isOver).toBe(false);
    fail(new Error("no such file"));
    await waiting;
    expect(isOver).toBe(true);
  });

  test.each([
    ["/a", `the file in ${VARIABLE}`],
    ["", "gcloud's file with credentials"],
  ])("%j is waited for in the time that a call has for credentials", async (path, file) => {
    vi.stubEnv(VARIABLE, path);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const bounds = { timeoutMs: 300, signal: new AbortController().signal };
    const settled: unknown[] = [];
    const wait = () => new Promise<void>(() => undefined);
    fileInTime(wait, bounds, { action: "sign with", name: "v" }).catch((error: unknown) => settled.push(error));
    await vi.advanceTimersByTimeAsync(269);
    expect(settled).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toMatchObject([
      { code: "timeout", message: `cannot sign with v: ${file} was not read within 270 ms` },
    ]);
  });

  test("is not waited for after the end of the call", async () => {
    const bounds = { timeoutMs: 300, signal: AbortSignal.abort() };
    const waiting = fileInTime(() => new Promise(() => undefined), bounds, { action: "sign with", name: "v" });
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
  });
});

describe("the files that it names", () => {
  const source = { credential_source: { file: "/run/token" } };
  const certificate = (members: object): object => ({ credential_source: { certificate: members } });
  test.each<[what: string, jsonContent: unknown, paths: readonly string[]]>([
    ["the token of workload identity", source, ["/run/token"]],
    ["the same in the other spelling", { credentialSource: { file: "/run/token" } }, ["/run/token"]],
    ["the token behind impersonation", { source_credentials: source }, ["/run/token"]],
    ["the token behind two steps of it", { source_credentials: { source_credentials: source } }, ["/run/token"]],
    [
      "the tokens of both steps",
      { ...source, source_credentials: { credential_source: { file: "/other" } } },
      ["/run/token", "/other"],
    ],
    ["the output of a program", { credential_source: { executable: { output_file: "/run/output" } } }, ["/run/output"]],
    ["the configuration of a certificate", certificate({ certificate_config_location: "/c.json" }), ["/c.json"]],
    [
      "gcloud's configuration of it, and the chain",
      certificate({ trust_chain_path: "/chain.pem" }),
      ["/op/.config/gcloud/certificate_config.json", "/chain.pem"],
    ],
    ["none for a URL", { credential_source: { url: "https://a" } }, []],
    ["none for another source", { type: "authorized_user" }, []],
    ["none if it is no text", { credential_source: { file: 7 } }, []],
    ["none without a file of credentials", undefined, []],
    ["none for null", null, []],
  ])("%s", async (_what, jsonContent, paths) => {
    await untilFilesAnswer({ jsonContent });
    expect(state.reads.map(([, ...read]) => read)).toEqual(paths.map((path) => [path, 1_048_576]));
  });

  test("the certificate and its key, which the configuration names", async () => {
    const config = { cert_configs: { workload: { cert_path: "/cert.pem", key_path: "/key.pem" } } };
    state.read = async () => new TextEncoder().encode(JSON.stringify(config));
    await untilFilesAnswer({ jsonContent: certificate({ certificate_config_location: "/c.json" }) });
    expect(state.reads.map(([, path]) => path)).toEqual(["/c.json", "/cert.pem", "/key.pem"]);
  });

  test("is waited for, and what is wrong with it is left to the SDK", async () => {
    let fail = (_error: Error): void => undefined;
    state.read = () => new Promise((_resolve, reject) => (fail = reject));
    let isOver = false;
    const waiting = untilFilesAnswer({ jsonContent: source }).then(() => (isOver = true));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(isOver).toBe(false);
    fail(new Error("no such file"));
    await waiting;
    expect(isOver).toBe(true);
  });
});
