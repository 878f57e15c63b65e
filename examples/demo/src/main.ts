import { createKeySet, rotationWindow, type GuardedSigner, type KeySet } from "@signpost/core";
import type { KeyStore } from "./key-store.ts";
import { openLocalKeys } from "./local-keys.ts";
import { startOp, type Op } from "./op.ts";
import { say, show, showExchange, showToken, step } from "./print.ts";
import { createRelyingParty } from "./relying-party.ts";
import { openSoftHsmToken } from "./softhsm-token.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The part of the OP that a rotation changes. */
interface OpState {
  keys: KeySet;
  rotationActive: () => boolean;
}

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
    say("SoftHSM is a PKCS#11 module in software: an HSM is opened in the same way.");
    return openSoftHsmToken();
  }
  step("A P-256 key in software");
  say(`There is no token: ${reason}.`);
  say("All the rest is the same with a key in this process.");
  return openLocalKeys();
}

/** The story, in the order in which an OP lives it. */
async function tell(place: string, newSigner: (label: string) => Promise<GuardedSigner>): Promise<void> {
  const first = await newSigner("sig-1");

  step("An OP on loopback, with its discovery document");
  let clockMs = Date.now();
  const state: OpState = { keys: createKeySet([{ keyId: "sig-1", signer: first }]), rotationActive: () => false };
  const op = await startOp({ keys: () => state.keys, rotationActive: () => state.rotationActive() });
  try {
    await showExchange(`${op.issuer}/.well-known/openid-configuration`);

    step("The key set that it publishes: public halves only");
    const published = await showExchange(op.jwksUri);

    step("The OP signs: the private key stays where it is");
    const before = await op.issueTokens();
    showToken("ID token", before.idToken);
    showToken("access token (RFC 9068)", before.accessToken);

    step("An RP verifies with jose, knowing only the issuer");
    const rp = await createRelyingParty(op.issuer);
    await rp.verifyTokens(before);
    show("requests for the key set", String(op.jwksRequests() - 1));

    step("A cache asks again and sends the ETag it has");
    await showExchange(op.jwksUri, { "If-None-Match": published.headers.get("etag") ?? "" });

    step(`Rotation: a second key in ${place} signs, and the first one stays published`);
    const second = await newSigner("sig-2");
    state.rotationActive = rotationWindow({ startedAt: new Date(clockMs), hours: 24, now: () => clockMs });
    state.keys = createKeySet([
      { keyId: "sig-2", signer: second },
      { keyId: "sig-1", signer: first },
    ]);
    say("For 24 hours caches are told to keep the set for 5 minutes only:");
    await showExchange(op.jwksUri, { "If-None-Match": published.headers.get("etag") ?? "" });

    step("New and old tokens verify");
    const requests = op.jwksRequests();
    const after = await op.issueTokens();
    showToken("new ID token", after.idToken);
    await rp.verifyTokens(after);
    say(`jose met an unknown kid and fetched the set again: ${op.jwksRequests() - requests} request`);
    await rp.verifyTokens(before);

    step("24 hours later: the long cache mode again");
    clockMs += DAY_MS;
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
