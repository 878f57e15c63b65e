import { createRotationSchedule, type GuardedSigner, type RotationSchedule, type ScheduledEntry } from "@signpost/core";
import type { KeyStore } from "./key-store.ts";
import { openLocalKeys } from "./local-keys.ts";
import { startOp, TOKEN_LIFETIME_SECONDS, type Op } from "./op.ts";
import { say, show, showExchange, showToken, step } from "./print.ts";
import { createRelyingParty } from "./relying-party.ts";
import { openSoftHsmToken } from "./softhsm-token.ts";

const MINUTE_MS = 60 * 1000;
const HOUR_MS = 60 * MINUTE_MS;

async function main(): Promise<void> {
  const store = await openKeyStore();
  const signers: GuardedSigner[] = [];
  const newSigner = async (label: string): Promise<GuardedSigner> => {
    const signer = await store.newSigner(label);
    signers.push(signer);
    show("signer", signer.uri);
    return signer;
  };
  try {
    await tell(store.place, newSigner);
  } finally {
    for (const signer of signers) await signer.close();
    await store.remove();
  }
}

function openKeyStore(): Promise<KeyStore> {
  const reason = process.env["SIGNPOST_DEMO_WITHOUT_TOKEN"];
  if (reason === undefined) {
    step("A P-256 key in a private SoftHSM token");
    say("SoftHSM is a PKCS#11 module in software. You open an HSM in the same way.");
    return openSoftHsmToken();
  }
  step("A P-256 key in software");
  say(`There is no token: ${reason}.`);
  say("Everything else works the same with a key in this process.");
  return openLocalKeys();
}

/** The steps, in the order of an OP's life. */
async function tell(place: string, newSigner: (label: string) => Promise<GuardedSigner>): Promise<void> {
  const first = await newSigner("sig-1");

  step("An OP on loopback, with its discovery document");
  // The schedule uses the demo's clock, so the demo does not wait for hours.
  let clockMs = 0;
  const moveClock = (time: number): void => {
    clockMs = time;
    show("the demo's own clock", new Date(clockMs).toISOString());
  };
  moveClock(Date.now());
  const plan = (entries: readonly ScheduledEntry[]): RotationSchedule =>
    createRotationSchedule(entries, { maxTokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS, now: () => clockMs });
  const entries: ScheduledEntry[] = [
    { keyId: "sig-1", signer: first, announcedFrom: new Date(clockMs), activeFrom: new Date(clockMs) },
  ];
  let schedule = plan(entries);
  const op = await startOp({
    // The schedule is replaced below, so read it on each call.
    keys: () => schedule.keySet(),
    jwksRotationActive: () => schedule.jwksRotationActive(),
  });
  try {
    await showExchange(`${op.issuer}/.well-known/openid-configuration`);

    step("The key set that it publishes: only public keys");
    const published = await showExchange(op.jwksUri);

    step("The OP signs. The private key stays where it is");
    const before = await op.issueTokens();
    showToken("ID token", before.idToken);
    showToken("access token (RFC 9068)", before.accessToken);

    step("An RP verifies with jose. It knows only the issuer");
    const rp = await createRelyingParty(op.issuer);
    await rp.verifyTokens(before);
    show("requests for the key set", String(op.jwksRequests() - 1));

    step("A cache asks again, and sends the ETag that it has");
    await showExchange(op.jwksUri, { "If-None-Match": published.headers.get("etag") ?? "" });

    step(`Rotation: a second key in ${place} is announced, and the first key keeps signing`);
    const second = await newSigner("sig-2");
    const announced = clockMs + MINUTE_MS;
    const active = announced + 4 * HOUR_MS + MINUTE_MS;
    entries.push({
      keyId: "sig-2",
      signer: second,
      announcedFrom: new Date(announced),
      activeFrom: new Date(active),
    });
    schedule = plan(entries);
    say(`It will sign from ${new Date(active).toISOString()}. By then every cache has it.`);
    moveClock(announced);
    say("During the rotation, caches may keep the set for only 5 minutes:");
    await showExchange(op.jwksUri, { "If-None-Match": published.headers.get("etag") ?? "" });

    step("Four hours later the second key signs. New and old tokens verify");
    moveClock(active);
    const requests = op.jwksRequests();
    const after = await op.issueTokens();
    showToken("new ID token", after.idToken);
    await rp.verifyTokens(after);
    say(
      `jose uses the real clock. It found an unknown kid and fetched the set again: ${op.jwksRequests() - requests} request`,
    );
    await rp.verifyTokens(before);

    step("When its last token has expired, the first key leaves the set");
    moveClock(schedule.nextChange()?.getTime() ?? clockMs);
    await showExchange(op.jwksUri);

    step("24 hours after the activation, caches may keep the set longer again");
    moveClock(active + 24 * HOUR_MS);
    await showExchange(op.jwksUri, {}, "HEAD");

    if (process.argv.includes("--serve")) await serve(op);
    else step("Done. `npm run demo -- --serve` keeps this OP running");
  } finally {
    await op.stop();
  }
}

async function serve(op: Op): Promise<void> {
  step("The OP keeps running. Ctrl-C stops it and removes its keys");
  say(`curl -i ${op.jwksUri}`);
  say(`curl ${op.issuer}/demo/tokens`);
  await new Promise<void>((stopped) => {
    process.once("SIGINT", () => stopped());
    process.once("SIGTERM", () => stopped());
  });
}

await main();
