import { openAwsKmsSigner } from "@signpost/aws-kms";
import { type FakeKmsKey, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { type BackendKey, type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import { startCredentialEndpoint } from "./credential-endpoint.ts";
import { restartSwitch, serviceFaults, stillOpen } from "./switches.ts";

/** Refused credentials are replaced at most every 5 seconds. Milliseconds. */
const CREDENTIALS_MS = 8_000;

/** AWS KMS, a fake with real keys, over the SDK or over HTTPS. Credentials come from a container's endpoint. */
export async function startAwsKms(transport: "sdk" | "https"): Promise<FaultyBackend> {
  const fake = await startFakeAwsKms();
  const source = await startCredentialEndpoint();
  useOnly(source.url);
  const { endpoint, region } = fake;
  let aliases = 0;
  let renewals = 0;
  let moved: BackendKey | undefined;
  const aliasOf = new WeakMap<BackendKey, readonly [alias: string, key: FakeKmsKey]>();

  /** From now on the credentials in use are refused. The source has new ones once it answers. */
  const refuse = (hangs: boolean): void => {
    source.hangs = hangs;
    fake.acceptOnly([`AKIAFAULTS${(renewals += 1)}`]);
  };
  const accept = (): void => {
    source.hangs = false;
    source.accessKeyId = `AKIAFAULTS${renewals}`;
  };
  return {
    newKey: async () => {
      const key = fake.addKey();
      const alias = `alias/op-${(aliases += 1)}`;
      fake.pointAlias(alias, key);
      const { publicKey } = key;
      if (publicKey === undefined) throw new Error("the fake has made no public key");
      const open: BackendKey["open"] = () =>
        openAwsKmsSigner({ key: alias, region, endpoint, transport, policy: POLICY, openDeadlineMs: OPEN_DEADLINE_MS });
      const made: BackendKey = { publicKey, open };
      aliasOf.set(made, [alias, key]);
      return made;
    },
    faults: {
      ...serviceFaults(fake.faults, "Sign"),
      restart: restartSwitch(fake.goAway, fake.comeBack),
      "dead-connections": {
        on: () => fake.forgetConnections("silent"),
        off: () => undefined,
        felt: () => fake.sockets.total,
      },
      "credentials-expired": { on: () => refuse(false), off: accept, effect: "fails", recoveryMs: CREDENTIALS_MS },
      "credentials-hanging": { on: () => refuse(true), off: accept, recoveryMs: CREDENTIALS_MS },
      "alias-moved": {
        on: (key) => {
          const [alias = ""] = aliasOf.get(key) ?? [];
          fake.pointAlias(alias, fake.addKey());
          moved = key;
        },
        off: () => {
          const [alias, key] = (moved === undefined ? undefined : aliasOf.get(moved)) ?? [];
          if (alias !== undefined && key !== undefined) fake.pointAlias(alias, key);
        },
      },
    },
    open: () => [
      ...stillOpen(fake.sockets.open, "connections to KMS"),
      ...stillOpen(source.connections(), "connections to the source of credentials"),
    ],
    forget: () => fake.reset(),
    stop: async () => {
      await fake.stop();
      await source.stop();
    },
  };
}

/** Hides the machine's credentials from this process. */
function useOnly(source: string): void {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "/nonexistent/config",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/credentials",
    AWS_CONTAINER_CREDENTIALS_FULL_URI: source,
  });
}
