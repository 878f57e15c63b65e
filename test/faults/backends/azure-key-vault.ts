import { createPublicKey } from "node:crypto";
import { createLimiter } from "@signpost/core";
import { openAzureKeyVaultSigner } from "@signpost/azure-key-vault";
import { startFakeAzureKeyVault, type FakeAzureKey } from "@signpost/test-backends/fake-azure-key-vault";
import { type BackendKey, type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import { createGate } from "./gate.ts";
import { restartSwitch, serviceFaults, stillOpen } from "./switches.ts";

/** A refused token is replaced at most every 5 seconds. Milliseconds. */
const CREDENTIALS_MS = 8_000;

/** Azure Key Vault, a fake over HTTPS with real keys. */
export async function startAzureKeyVault(): Promise<FaultyBackend> {
  const fake = await startFakeAzureKeyVault();
  const { caFile, url: vault, entra } = fake;
  // The default is the rate of a vault, and a campaign signs more.
  const limiter = createLimiter({ concurrency: 16, maxQueue: 1000 });
  const keys = new WeakMap<BackendKey, FakeAzureKey>();
  let names = 0;
  const gate = createGate();
  const credential: typeof entra.credential = {
    getToken: async (...args) => {
      await gate.passed();
      return entra.credential.getToken(...args);
    },
  };
  const hang = (): void => {
    gate.shut();
    entra.revokeAll();
  };
  return {
    newKey: async () => {
      const key = fake.addKey(`op-${(names += 1)}`);
      const { x, y } = key.latest.material;
      const keyVersion = key.latest.version;
      let opened = false;
      const made: BackendKey = {
        publicKey: createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" }),
        open: async () => {
          const options = { vault, key: key.name, credential, tls: { caFile }, openDeadlineMs: OPEN_DEADLINE_MS };
          const version = opened ? { keyVersion } : {};
          opened = true;
          return openAzureKeyVaultSigner({ ...options, ...version, policy: { ...POLICY, limiter } });
        },
      };
      keys.set(made, key);
      return made;
    },
    faults: {
      ...serviceFaults(fake.faults, "sign"),
      restart: restartSwitch(fake.goAway, fake.comeBack),
      "dead-connections": {
        on: () => fake.forgetConnections(),
        off: () => undefined,
        felt: () => fake.sockets.total,
      },
      "alias-moved": { on: (key) => void keys.get(key)?.rotate(), off: () => undefined },
      // The credential has another one, so that no call need fail.
      "credentials-expired": {
        on: () => entra.revokeAll(),
        off: () => undefined,
        recoveryMs: CREDENTIALS_MS,
        felt: () => entra.issued.length,
      },
      "credentials-hanging": { on: hang, off: gate.open, recoveryMs: CREDENTIALS_MS },
    },
    open: () => stillOpen(fake.sockets.open, "connections to the vault"),
    forget: () => {
      fake.forgetRequests();
      fake.faults.clear();
    },
    stop: fake.stop,
  };
}
