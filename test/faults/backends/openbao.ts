import { createPublicKey } from "node:crypto";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { startSilentNetwork } from "@signpost/test-backends/silent-network";
import { type BackendKey, type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import { createGate } from "./gate.ts";
import { stillOpen } from "./switches.ts";

/** A refused token is replaced at most every 5 seconds. Milliseconds. */
const CREDENTIALS_MS = 8_000;
const POLICY_NAME = "op";
const OP_POLICY = [
  'path "transit/sign/+/sha2-256" { capabilities = ["update"] }',
  'path "transit/keys/+" { capabilities = ["read"] }',
].join("\n");
const NO_POLICY = 'path "transit/none" { capabilities = ["read"] }';

/** A real OpenBao server behind a network that can lose connections. Its faults are those that an operator can make. */
export async function startOpenbaoServer(): Promise<FaultyBackend> {
  const server = await startOpenbao({ storage: "raft" });
  const network = await startSilentNetwork(server.port);
  const address = `http://127.0.0.1:${network.port}`;
  const writePolicy = async (policy: string): Promise<void> => {
    await server.must("PUT", `sys/policies/acl/${POLICY_NAME}`, { policy });
  };
  const newToken = async (): Promise<string> => {
    const { client_token: made } = await server.must("POST", "auth/token/create", { policies: [POLICY_NAME] });
    return String(made);
  };
  await writePolicy(OP_POLICY);
  let token = await newToken();
  let names = 0;
  const gate = createGate();
  const giveToken = async (): Promise<string> => {
    await gate.passed();
    return token;
  };
  const revoke = async (): Promise<void> => void (await server.must("POST", "auth/token/revoke", { token }));
  const accept = async (): Promise<void> => {
    token = await newToken();
    gate.open();
  };
  const keyNames = new WeakMap<BackendKey, string>();
  return {
    newKey: async () => {
      const key = `op-${(names += 1)}`;
      await server.must("POST", `transit/keys/${key}`, { type: "ecdsa-p256" });
      const { keys } = await server.must("GET", `transit/keys/${key}`);
      const pem = (keys as Readonly<Record<string, { readonly public_key: string }>>)["1"]?.public_key ?? "";
      let opened = false;
      const made: BackendKey = {
        publicKey: createPublicKey(pem),
        open: async () => {
          const version = opened ? { keyVersion: 1 } : {};
          opened = true;
          return openVaultTransitSigner({
            address,
            key,
            ...version,
            auth: { method: "token", token: giveToken },
            policy: POLICY,
            openDeadlineMs: OPEN_DEADLINE_MS,
          });
        },
      };
      keyNames.set(made, key);
      return made;
    },
    faults: {
      restart: { on: server.kill, off: server.restart, recoveryMs: 15_000 },
      frozen: { on: server.freeze, off: server.thaw, effect: "fails" },
      "dead-connections": {
        on: () => network.loseOpenOnes(),
        off: () => undefined,
        felt: () => network.connections,
      },
      "half-open": {
        on: () => {
          network.loseNewOnes(true);
          network.loseOpenOnes();
        },
        off: () => {
          network.loseNewOnes(false);
          network.loseOpenOnes();
        },
      },
      throttling: {
        on: async () =>
          void (await server.must("POST", "sys/quotas/rate-limit/campaign", { rate: 1, path: "transit" })),
        off: async () => void (await server.must("DELETE", "sys/quotas/rate-limit/campaign")),
      },
      "access-denied": { on: () => writePolicy(NO_POLICY), off: () => writePolicy(OP_POLICY), effect: "fails" },
      "credentials-expired": { on: revoke, off: accept, effect: "fails", recoveryMs: CREDENTIALS_MS },
      "credentials-hanging": {
        on: async () => {
          gate.shut();
          await revoke();
        },
        off: accept,
        recoveryMs: CREDENTIALS_MS,
      },
      "alias-moved": {
        on: async (key) => void (await server.must("POST", `transit/keys/${keyNames.get(key) ?? ""}/rotate`)),
        off: () => undefined,
      },
    },
    open: () => stillOpen(network.open, "connections to the server"),
    forget: () => undefined,
    stop: async () => {
      await network[Symbol.asyncDispose]();
      await server.stop();
    },
  };
}
