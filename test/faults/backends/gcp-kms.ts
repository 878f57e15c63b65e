import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { startSilentNetwork } from "@signpost/test-backends/silent-network";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { googleAuthLibrary } from "google-gax";
import { type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import { createGate, type Gate } from "./gate.ts";
import { serviceFaults, stillOpen } from "./switches.ts";

/** Google Cloud KMS, a fake with real keys: over gRPC with the adapter's client, or over REST with a client of the caller's. */
export async function startGcpKms(transport: "grpc" | "rest"): Promise<FaultyBackend> {
  const fake = await startFakeGcpKms();
  const network = await startSilentNetwork(transport === "grpc" ? fake.grpcPort : fake.restPort);
  const credentials = createCredentials();
  const client =
    transport === "grpc"
      ? undefined
      : new KeyManagementServiceClient({
          fallback: true,
          protocol: "http",
          apiEndpoint: fake.host,
          port: network.port,
          authClient: credentials.authClient,
        });
  const where = client === undefined ? { endpoint: `http://${fake.host}:${network.port}` } : { client };
  // The first call of a process loads most of the client, which is not what a campaign is about.
  await (
    await openGcpKmsSigner({
      keyVersion: fake.addVersion().name,
      ...where,
      openDeadlineMs: 30_000,
      callTimeoutMs: 30_000,
    })
  ).close();
  const faults = serviceFaults(fake.faults, "AsymmetricSign");
  return {
    newKey: async () => {
      const { name, publicKey } = fake.addVersion();
      return {
        publicKey,
        open: () => openGcpKmsSigner({ keyVersion: name, ...where, policy: POLICY, openDeadlineMs: OPEN_DEADLINE_MS }),
      };
    },
    faults: {
      ...faults,
      restart: { on: () => fake.setReachable(false), off: () => fake.setReachable(true) },
      "dead-connections": {
        on: () => network.loseOpenOnes(),
        off: () => undefined,
        felt: () => network.connections,
      },
      "alias-moved": { on: () => void fake.addVersion(), off: () => undefined },
      ...(client !== undefined && {
        "credentials-hanging": { on: credentials.gate.shut, off: credentials.gate.open },
      }),
      "credentials-expired": {
        on: () => fake.faults.on("expired-credentials", "AsymmetricSign"),
        off: () => fake.faults.off("expired-credentials"),
        effect: "fails",
      },
    },
    closeClients: async () => client?.close(),
    open: () => stillOpen(fake.connections(), "connections to KMS"),
    forget: () => fake.faults.clear(),
    stop: async () => {
      await network[Symbol.asyncDispose]();
      await fake.stop();
    },
  };
}

/** Credentials of a client that may hang. */
function createCredentials(): { readonly authClient: never; readonly gate: Gate } {
  const authClient = new googleAuthLibrary.OAuth2Client();
  authClient.setCredentials({ access_token: "ya29.of-a-campaign", expiry_date: Date.now() + 24 * 3_600_000 });
  const usual = authClient.getRequestHeaders.bind(authClient);
  const gate = createGate();
  authClient.getRequestHeaders = async (...args) => {
    await gate.passed();
    return usual(...args);
  };
  return { authClient: authClient as never, gate };
}
