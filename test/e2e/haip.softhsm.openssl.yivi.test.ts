import { afterAll, beforeAll, expect, test } from "vitest";
import { signJwt, type SignJwtOptions } from "@signpost/core";
import { askYivi } from "@signpost/test-backends/yivi";
import { setUpIssuer, startIssuer } from "./support/credential-issuer.ts";
import { createHaipCredentials } from "./support/haip-credentials.ts";
import { issueAroundRotation } from "./support/haip-issuer.ts";
import { createRotatingKeys, type RotatingKeys } from "./support/rotating-keys.ts";
import { takeCredential } from "./support/wallet.ts";

// The Yivi wallet is written in Go, and shares no code with Signpost, Credo or Node.

const { anchor, sound, broken } = createHaipCredentials();

let keys: RotatingKeys;

beforeAll(async () => {
  keys = await createRotatingKeys("issuer.example");
});
afterAll(() => keys.close());

test("the Yivi wallet accepts a sound credential, and none with a mistake that it knows", async () => {
  const reasons = await askYivi(anchor, [sound, ...broken.map(({ credential }) => credential)]);
  const refused = broken.filter((_, index) => reasons[index + 1] !== "").map(({ name }) => name);
  expect(reasons[0]).toBe("");
  expect(refused).toEqual(broken.filter(({ refusedBy }) => refusedBy.includes("yivi")).map(({ name }) => name));
});

test("it accepts each of 1,000 credentials around a rotation", async () => {
  const credentials = await issueAroundRotation(keys);
  const reasons = await askYivi(keys.issued.anchor, credentials);
  expect(reasons.filter((reason) => reason !== "")).toEqual([]);
  expect(reasons).toHaveLength(1000);
  const [reason] = await askYivi(anchor, credentials.slice(0, 1));
  expect(reason).toContain("unknown authority");
});

test("it refuses a kid next to x5c, which signJwt can leave out", async () => {
  const sign = (options: SignJwtOptions): Promise<string> =>
    signJwt(
      keys.source(),
      { iss: "https://issuer.example", vct: "urn:person" },
      { typ: "dc+sd-jwt", certificates: "x5c", ...options },
    );
  const credentials = [`${await sign({})}~`, `${await sign({ kid: false })}~`];
  const [both, x5cOnly] = await askYivi(keys.issued.anchor, credentials);
  expect(both).toContain("both 'x5c' and 'kid'");
  expect(x5cOnly).toBe("");
});

test("it accepts what examples/credential-issuer signs in SoftHSM, with the chain from its setup", async () => {
  const issuer = "https://issuer.example";
  const folder = await setUpIssuer(issuer);
  const { program, address } = await startIssuer(folder.env);
  const { credential } = await takeCredential(issuer, address);
  expect(await askYivi(folder.root, [credential])).toEqual([""]);
  expect(await program.ended("SIGTERM"), program.output()).toBe(0);
});
