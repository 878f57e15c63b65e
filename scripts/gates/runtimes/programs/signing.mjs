// Signs through one backend on whichever runtime starts it: the tokens of a rotation, and the checks for every signer.
import assert from "node:assert/strict";
import { check, claims, done, failureOf, handOver, load, rotating, settings, signAcross } from "./lib.mjs";
import { OPENERS } from "./signers.mjs";

/** For what is not about time: generous, so that a busy machine changes no result. */
const STEADY = { deadlineMs: 60_000, attemptTimeoutMs: 20_000 };

/** How long opening may try while a fault is on, and while none is. Milliseconds. */
const FAULTY_OPEN_MS = 600;
const OPEN_MS = 20_000;

const { package: name, backend, checks } = settings;
const core = await load("core");
const opener = OPENERS[name];
assert.ok(opener);

await check("a rotation", async () => {
  const open = await opener(backend);
  const signers = [await open(0, { policy: STEADY }), await open(1, { policy: STEADY })];
  const { keys, rotate } = rotating(core, signers);
  handOver(await signAcross((index) => core.signJwt(keys, claims(index)), rotate, settings.tokens));
  const [signer] = signers;
  assert.equal((await failureOf(signer.sign(new Uint8Array(32), { signal: AbortSignal.abort() }))).code, "aborted");
  for (const each of signers) await each.close();
  assert.equal((await failureOf(signer.sign(new Uint8Array(32)))).code, "closed");
});

if (checks !== undefined) {
  const { signerChecks } = await load("conformance");
  const open = await opener(checks.backend);
  let isFaulty = false;
  /** @param {string} fault @param {boolean} on */
  const toggle = async (fault, on) => {
    isFaulty = on;
    const response = await fetch(`${checks.control}${fault}/${on ? "on" : "off"}`, { method: "POST" });
    assert.equal(await response.text(), "");
  };
  const harness = {
    open: (/** @type {object | false} */ policy) => open(0, { policy: unhurried(policy), ...deadline(isFaulty) }),
    secrets: checks.secrets,
    faults: Object.fromEntries(
      checks.faults.map((/** @type {string} */ fault) => [fault, (/** @type {boolean} */ on) => toggle(fault, on)]),
    ),
  };
  // A bare signer behaves alike, and the unlikely signatures are the same on each runtime.
  const wanted = signerChecks(harness).filter(
    (/** @type {{ name: string }} */ each) => each.name.startsWith("guarded: ") && !each.name.includes("leading zero"),
  );
  assert.ok(wanted.length > 20, `only ${wanted.length} checks`);
  for (const each of wanted) await check(each.name, each.run);
}
done();

/** @param {boolean} isFaulty */
function deadline(isFaulty) {
  // A local signer opens without a backend.
  return name === "local" ? {} : { openDeadlineMs: isFaulty ? FAULTY_OPEN_MS : OPEN_MS };
}

/** The checks sign more often than a vault allows. @param {any} policy */
function unhurried(policy) {
  if (name !== "azure-key-vault" || policy === false) return policy;
  const { concurrency = 16, maxQueue = 1000, ...others } = policy ?? {};
  return { ...others, limiter: core.createLimiter({ concurrency, maxQueue }) };
}
