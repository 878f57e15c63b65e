import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openVaultTransitSigner, type VaultTransitDispatcherLike } from "@signpost/vault-transit";
import { signDigest } from "@signpost/test-backends/digest-signature";
import { OPENING_CASES, type Answer, type OpeningHarness } from "@signpost/test-backends/opening-cases";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const secret = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
const KEY = {
  type: "ecdsa-p256",
  keys: { "1": { public_key: publicKey.export({ type: "spki", format: "pem" }) } },
  latest_version: 1,
  min_available_version: 0,
  min_decryption_version: 1,
  min_encryption_version: 0,
};

type Response = Awaited<ReturnType<VaultTransitDispatcherLike["request"]>>;

async function* bytesOf(json: object): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(json));
}

function respond(statusCode: number, json: object): Response {
  return { statusCode, headers: {}, body: bytesOf(json) };
}

/** A dispatcher without a network: it answers in the words of the table, and hears no signal. */
async function answered(answer: Answer, whole: object, member: string): Promise<Response> {
  if (answer === "silence") return new Promise<never>(() => {});
  if (answer === "outage") return respond(503, { errors: ["Vault is sealed"] });
  if (answer === "refusal") return respond(403, { errors: ["permission denied"] });
  return respond(200, { data: answer === "incomplete" ? { ...whole, [member]: undefined } : whole });
}

function signed(body: string): object {
  const { input } = JSON.parse(body) as { input: string };
  const der = Buffer.from(signDigest(Buffer.from(input, "base64"), secret));
  return { key_version: 1, signature: `vault:v1:${der.toString("base64")}` };
}

const harness: OpeningHarness = {
  connect: (next) => {
    const dispatcher: VaultTransitDispatcherLike = {
      request: ({ method, body = "" }) =>
        method === "GET" ? answered(next("readKey"), KEY, "keys") : answered(next("sign"), signed(body), "signature"),
    };
    const options = { address: "https://vault.example", key: "op", auth: { method: "none" }, dispatcher } as const;
    return { open: (common) => openVaultTransitSigner({ ...options, ...common }) };
  },
};

const [patient, prompt] = [true, false].map((isPatient) =>
  OPENING_CASES.filter(({ name }) => /^gives up after|^bounds a call/.test(name) === isPatient),
);

// These only wait, and share no client.
describe.concurrent("opening, at the same time,", () => {
  test.each(patient ?? [])("$name", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});

describe("opening", () => {
  test.each(prompt ?? [])("$name", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});
