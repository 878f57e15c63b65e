import { createPublicKey } from "node:crypto";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startFakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import { createGate } from "./gate.ts";
import { restartSwitch, serviceFaults, stillOpen } from "./switches.ts";

/** A refused token is replaced at most every 5 seconds. Milliseconds. */
const CREDENTIALS_MS = 8_000;

/** Vault's Transit engine, a fake with real keys. */
export async function startVaultTransit(): Promise<FaultyBackend> {
  const fake = await startFakeVaultTransit();
  const { address } = fake;
  let token = fake.token;
  let [names, renewals] = [0, 0];
  const gate = createGate();
  const giveToken = async (): Promise<string> => {
    await gate.passed();
    return token;
  };
  /** From now on the token is refused. There is a new one when `accept` is called. */
  const refuse = (): void => {
    fake.accepted = [`campaign-token-${(renewals += 1)}`];
  };
  const accept = (): void => {
    token = `campaign-token-${renewals}`;
    gate.open();
  };
  return {
    newKey: async () => {
      const key = `op-${(names += 1)}`;
      return {
        publicKey: createPublicKey(fake.addKey(key)),
        open: () =>
          openVaultTransitSigner({
            address,
            key,
            auth: { method: "token", token: giveToken },
            policy: POLICY,
            openDeadlineMs: OPEN_DEADLINE_MS,
          }),
      };
    },
    faults: {
      ...serviceFaults(fake.faults, "sign"),
      restart: restartSwitch(fake.goAway, fake.comeBack),
      "dead-connections": {
        on: () => fake.forgetConnections(),
        off: () => undefined,
        felt: () => fake.sockets.total,
      },
      "credentials-expired": { on: refuse, off: accept, effect: "fails", recoveryMs: CREDENTIALS_MS },
      "credentials-hanging": {
        on: () => {
          gate.shut();
          refuse();
        },
        off: accept,
        recoveryMs: CREDENTIALS_MS,
      },
    },
    open: () => stillOpen(fake.sockets.open, "connections to the server"),
    forget: () => fake.forgetRequests(),
    stop: fake.stop,
  };
}
