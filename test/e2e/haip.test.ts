import * as credo from "@credo-ts/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startAgent } from "../../examples/credo/src/agent.ts";
import { signpostBackend } from "../../examples/credo/src/key-management.ts";
import { createHaipCredentials } from "./support/haip-credentials.ts";
import { issueAroundRotation } from "./support/haip-issuer.ts";
import { brokenHaipRules, HAIP_RULES } from "./support/haip-rules.ts";
import { createRotatingKeys, type RotatingKeys } from "./support/rotating-keys.ts";

// Credentials of the HAIP profile, and what refuses the others: the rules one by one, and Credo, which knows some of them.
// The Yivi wallet is in haip.softhsm.openssl.yivi.test.ts.

const { anchor, sound, broken } = createHaipCredentials();

let keys: RotatingKeys;
let agent: credo.Agent;

beforeAll(async () => {
  keys = await createRotatingKeys("issuer.example");
  agent = await startAgent(signpostBackend(keys.source), credo);
});
afterAll(async () => {
  await agent.shutdown();
  await keys.close();
});

async function isAcceptedByCredo(compactSdJwtVc: string, trusted: string): Promise<boolean> {
  const verified = agent.sdJwtVc.verify({ compactSdJwtVc, trustedCertificates: [trusted] });
  // It throws for some mistakes, and says so for others.
  return verified.then(
    ({ isValid }) => isValid,
    () => false,
  );
}

test("a sound credential breaks no rule, and Credo accepts it", async () => {
  expect(brokenHaipRules(sound, anchor)).toEqual([]);
  expect(await isAcceptedByCredo(sound, anchor)).toBe(true);
});

test("there is a broken credential for each rule", () => {
  expect(new Set(broken.flatMap(({ rules }) => rules))).toEqual(new Set(HAIP_RULES));
});

test.each(broken)("$name breaks $rules", async ({ credential, rules, refusedBy }) => {
  expect(brokenHaipRules(credential, anchor)).toEqual(rules);
  expect(await isAcceptedByCredo(credential, anchor)).toBe(!refusedBy.includes("credo"));
});

test("none of 1,000 credentials around a rotation breaks a rule, and Credo accepts them", async () => {
  const credentials = await issueAroundRotation(keys);
  for (const [index, credential] of credentials.entries()) {
    expect(brokenHaipRules(credential, keys.issued.anchor)).toEqual([]);
    // It takes a while. These are some of both keys.
    if (index % 50 === 0) expect(await isAcceptedByCredo(credential, keys.issued.anchor)).toBe(true);
  }
  expect(brokenHaipRules(credentials[0] ?? "", anchor)).toEqual(["path"]);
});
