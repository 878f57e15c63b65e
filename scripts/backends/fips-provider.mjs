import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { findProgram, run } from "../lib/process.mjs";
import { cacheFolder } from "../lib/repository.mjs";
import { say } from "../lib/say.mjs";

/** A line of `apt-get indextargets` about a repository of Debian or Ubuntu, or a mirror of one, but not about security updates. */
const REPOSITORY = /^(\S+\/(debian|ubuntu)\/?) (\S+)$/gm;

/**
 * Builds OpenSSL's FIPS provider from the source that Debian or Ubuntu signs, for tests of Node in FIPS mode. Their packages do not
 * have the compiled provider. Node loads a provider of another 3.x. It is not a validated build: those come from a vendor.
 *
 * @returns {Promise<NodeJS.ProcessEnv>} what Node needs to load it
 */
export async function provideFipsProvider() {
  const folder = join(cacheFolder(), "fips-provider");
  const env = { SIGNPOST_FIPS_MODULES: folder, SIGNPOST_FIPS_CONF: join(folder, "openssl.cnf") };
  if (existsSync(env.SIGNPOST_FIPS_CONF)) return env;
  if (process.arch !== "x64") throw new Error("the FIPS provider is built on x64 only");
  if (findProgram("apt-get") === undefined)
    throw new Error("apt-get not found, and the FIPS provider is built from Debian's or Ubuntu's source");

  say("Building OpenSSL's FIPS provider");
  mkdirSync(cacheFolder(), { recursive: true });
  const work = mkdtempSync(join(cacheFolder(), "fips-provider-"));
  try {
    await download(work);
    await build(work);
    await install(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return env;
}

/** With lists and a cache in the folder, so that the machine's apt does not notice. @param {string} work */
async function download(work) {
  writeFileSync(join(work, "sources.list"), await sourceRepositories());
  for (const name of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(work, name), { recursive: true });
  const options = [
    `Dir::Etc::sourcelist=${join(work, "sources.list")}`,
    "Dir::Etc::sourceparts=-",
    `Dir::State::lists=${join(work, "lists")}`,
    `Dir::Cache=${join(work, "cache")}`,
    "APT::Sandbox::User=",
  ].flatMap((option) => ["-o", option]);
  await step("apt-get", [...options, "-qq", "update"], work);
  await step("apt-get", [...options, "-qq", "source", "--download-only", "openssl"], work);
  const archive = readdirSync(work).find((name) => name.endsWith(".orig.tar.gz"));
  if (archive === undefined) throw new Error("apt-get source openssl brought no archive");
  mkdirSync(join(work, "openssl"));
  await step("tar", ["xzf", archive, "-C", "openssl", "--strip-components=1"], work);
}

/** The sources of the repositories that this machine installs from. */
async function sourceRepositories() {
  const { output } = await run("apt-get", ["indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"], {
    quiet: true,
  });
  const lines = [...output.matchAll(REPOSITORY)].map(
    ([, site, name, release]) =>
      `deb-src [signed-by=/usr/share/keyrings/${name}-archive-keyring.gpg] ${site} ${release} main\n`,
  );
  if (lines.length === 0) throw new Error("apt-get installs from no repository of Debian or Ubuntu");
  return [...new Set(lines)].join("");
}

/** Only the provider, which takes some seconds. @param {string} work */
async function build(work) {
  const folder = join(work, "openssl");
  await step("perl", ["./Configure", "linux-x86_64", "enable-fips"], folder);
  await step("make", ["-j2", "build_generated"], folder);
  await step("make", ["-j2", "providers/fips.so"], folder);
}

/** Runs the provider's self-tests, and writes the configuration that loads it. @param {string} work @param {string} folder */
async function install(work, folder) {
  const made = join(work, "made");
  mkdirSync(made);
  copyFileSync(join(work, "openssl/providers/fips.so"), join(made, "fips.so"));
  await step("openssl", ["fipsinstall", "-module", join(made, "fips.so"), "-out", "fipsmodule.cnf"], made);
  const lines = [
    "nodejs_conf = nodejs_init",
    `.include ${join(folder, "fipsmodule.cnf")}`,
    "[nodejs_init]",
    "providers = providers",
    "alg_section = algorithms",
    "[providers]",
    "fips = fips_sect",
    "base = base",
    "[base]",
    "activate = 1",
    "[algorithms]",
    "default_properties = fips=yes",
  ];
  writeFileSync(join(made, "openssl.cnf"), `${lines.join("\n")}\n`);
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
}

/** @param {string} program @param {readonly string[]} args @param {string} cwd */
async function step(program, args, cwd) {
  const { ok, output } = await run(program, args, { cwd, quiet: true });
  if (!ok)
    throw new Error(`the FIPS provider could not be built: ${program} ${args.at(-1)} failed\n${output.slice(-2000)}`);
}
