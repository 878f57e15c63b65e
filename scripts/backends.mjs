import { installDebianPackages } from "./backends/apt.mjs";
import { provideFipsProvider } from "./backends/fips-provider.mjs";
import { provideKubeApiserver } from "./backends/kube-apiserver.mjs";
import { provideNextjs } from "./backends/nextjs.mjs";
import { provideOpenbao } from "./backends/openbao.mjs";
import { providePkcs11js } from "./backends/pkcs11js.mjs";
import { provideRuntime } from "./backends/runtime.mjs";
import { provideWycheproof } from "./backends/wycheproof.mjs";
import { provideZizmor } from "./backends/zizmor.mjs";
import { buildGoProgram } from "./lib/go-program.mjs";
import { findProgram } from "./lib/process.mjs";
import { provideLocalstack } from "./provide-localstack.mjs";

/**
 * The backends that tests need, one row for each. A test named `name.<backend>.test.ts` runs if its backend is available.
 * Otherwise the runner reports that it did not run.
 *
 * A row is provided in this order: the rows in `needs`, the Debian packages in `apt` if any of `programs` is missing, then
 * `provide`. Downloads and builds go into `cacheFolder()`.
 *
 * @typedef {object} Backend
 * @property {string} what a short description for people
 * @property {readonly string[]} [needs] other rows
 * @property {readonly string[]} [apt] Debian packages
 * @property {readonly string[]} [programs] programs on PATH once the packages are installed
 * @property {() => Promise<NodeJS.ProcessEnv | void>} [provide] may run again; throws an `Error` that says what
 *   is missing; may return environment variables for the tests
 */

/** @type {Readonly<Record<string, Backend>>} */
export const BACKENDS = {
  pkcs11js: {
    what: "the compiled PKCS#11 binding for Node",
    apt: ["python3", "make", "g++"],
    programs: ["python3", "make", "g++"],
    provide: providePkcs11js,
  },
  softhsm: {
    what: "private SoftHSM tokens",
    needs: ["pkcs11js"],
    apt: ["softhsm2", "opensc"],
    programs: ["softhsm2-util", "pkcs11-tool"],
  },
  cc: {
    what: "a C compiler, for the PKCS#11 module that injects faults",
    apt: ["gcc", "libc6-dev"],
    programs: ["cc"],
  },
  p11kit: {
    what: "p11-kit remoting in front of SoftHSM",
    needs: ["softhsm"],
    apt: ["p11-kit", "p11-kit-modules"],
    programs: ["p11-kit"],
  },
  tpm2: {
    what: "tpm2-pkcs11 on a software TPM",
    needs: ["pkcs11js"],
    apt: ["libtpm2-pkcs11-1", "libtss2-tcti-swtpm0", "swtpm", "tpm2-tools", "opensc"],
    programs: ["swtpm", "tpm2_flushcontext", "pkcs11-tool"],
  },
  nss: {
    what: "the PKCS#11 module of NSS",
    needs: ["pkcs11js"],
    apt: ["libnss3", "libnss3-tools"],
    programs: ["certutil"],
  },
  openssl: {
    what: "the command openssl, as an independent judge of certificates",
    apt: ["openssl"],
    programs: ["openssl"],
  },
  nginx: {
    what: "nginx as a shared cache, with a clock that libfaketime moves",
    needs: ["faketime"],
    apt: ["nginx"],
    programs: ["nginx"],
  },
  faketime: {
    what: "libfaketime, for a process whose clock is wrong",
    apt: ["faketime"],
    programs: ["faketime"],
  },
  systemd: {
    what: "systemd's own reader of unit files",
    apt: ["systemd"],
    programs: ["systemd-analyze"],
  },
  localstack: {
    what: "LocalStack's AWS KMS",
    provide: provideLocalstack,
  },
  localkms: {
    what: "local-kms, an independent AWS KMS",
    provide: () => buildGoProgram("local-kms"),
  },
  gcpemu: {
    what: "an independent Google Cloud KMS",
    provide: () => buildGoProgram("gcp-kms-emulator"),
  },
  openbao: {
    what: "OpenBao, the open-source fork of HashiCorp Vault",
    provide: provideOpenbao,
  },
  stepca: {
    what: "step-ca, a certificate authority",
    needs: ["openssl"],
    provide: () => buildGoProgram("step-ca", "github.com/smallstep/certificates/cmd/step-ca"),
  },
  etcd: {
    what: "etcd, where kube-apiserver keeps its objects",
    provide: () => buildGoProgram("etcd", "go.etcd.io/etcd/server/v3", "-s -w"),
  },
  kubeapiserver: {
    what: "kube-apiserver, the OP of a Kubernetes cluster",
    needs: ["etcd"],
    provide: provideKubeApiserver,
  },
  yivi: {
    what: "the code with which the Yivi wallet accepts a credential",
    provide: () => buildGoProgram("yivi"),
  },
  kubeclient: {
    what: "the code with which kube-apiserver asks a signer for tokens",
    provide: () => buildGoProgram("kube-client"),
  },
  fips: {
    what: "OpenSSL's FIPS provider, for Node in FIPS mode",
    apt: ["gcc", "libc6-dev", "make", "perl", "openssl"],
    programs: ["cc", "make", "perl", "openssl"],
    provide: provideFipsProvider,
  },
  redis: {
    what: "Debian's Redis, for the replay store",
    apt: ["redis-server"],
    programs: ["redis-server"],
  },
  shells: {
    what: "bash, zsh and fish, for the completion of command lines",
    apt: ["bash-completion", "zsh", "fish"],
    programs: ["zsh", "fish"],
  },
  bun: {
    what: "Bun, a runtime that replaces undici with its own module",
    provide: () => provideRuntime("bun"),
  },
  deno: {
    what: "Deno, another runtime for npm packages",
    provide: () => provideRuntime("deno"),
  },
  nextjs: {
    what: "Next.js, which builds and serves an example",
    provide: provideNextjs,
  },
  wrk: {
    what: "wrk, an HTTP load generator for the benchmark of the endpoint",
    apt: ["wrk"],
    programs: ["wrk"],
  },
  actionlint: {
    what: "a linter for workflow files",
    provide: () => buildGoProgram("actionlint", "github.com/rhysd/actionlint/cmd/actionlint"),
  },
  zizmor: {
    what: "a linter for the security of workflow files",
    provide: provideZizmor,
  },
  wycheproof: {
    what: "the test vectors of Project Wycheproof",
    provide: provideWycheproof,
  },
  chromium: {
    what: "Debian's Chromium, for the single-page RP and the website of the guides",
    apt: ["chromium"],
    programs: ["chromium"],
  },
};

/**
 * @typedef {{ ok: true, env: NodeJS.ProcessEnv } | { ok: false, reason: string }} Provided
 */

/**
 * Provides the named backends, so that tests can start them. Does not throw if one is unavailable.
 *
 * @param {readonly string[]} names
 * @returns {Promise<Map<string, Provided>>} also for the rows that these need
 */
export async function provideBackends(names) {
  const wanted = withNeeds(names);
  await installBackendPackages(names);
  /** @type {Map<string, Provided>} */
  const results = new Map();
  for (const name of wanted) results.set(name, await provide(name, results));
  return results;
}

/** Installs only the Debian packages, which can run while the dependencies are installed. @param {readonly string[]} names */
export async function installBackendPackages(names) {
  const missing = withNeeds(names).filter((name) => missingPrograms(name).length > 0);
  await installDebianPackages([...new Set(missing.flatMap((name) => row(name).apt ?? []))]);
}

/** The rows in order: a row comes after the rows that it needs. @param {readonly string[]} names @returns {string[]} */
function withNeeds(names) {
  const ordered = names.flatMap((name) => [...withNeeds(row(name).needs ?? []), name]);
  return [...new Set(ordered)];
}

/** @param {string} name */
function missingPrograms(name) {
  return (row(name).programs ?? []).filter((program) => findProgram(program) === undefined);
}

/**
 * @param {string} name
 * @param {ReadonlyMap<string, Provided>} earlier
 * @returns {Promise<Provided>}
 */
async function provide(name, earlier) {
  const { needs = [], apt = [], provide: make } = row(name);
  for (const need of needs) {
    const result = earlier.get(need);
    if (result?.ok === false) return result;
  }
  const missing = missingPrograms(name);
  if (missing.length > 0) {
    return { ok: false, reason: `${missing.join(", ")} not found. On Debian: apt-get install ${apt.join(" ")}` };
  }
  try {
    const env = await make?.();
    return { ok: true, env: env ?? {} };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** @param {string} name @returns {Backend} */
function row(name) {
  const found = BACKENDS[name];
  if (found === undefined) throw new Error(`Unknown backend "${name}": scripts/backends.mjs does not have it`);
  return found;
}
