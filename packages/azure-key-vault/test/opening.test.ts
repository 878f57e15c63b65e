import { describe, expect, test } from "vitest";
import { ecdsaDerToRaw } from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultApi } from "@signpost/azure-key-vault";
import { signDigest } from "@signpost/test-backends/digest-signature";
import { createKeyMaterial } from "@signpost/test-backends/fake-azure-key-vault";
import { OPENING_CASES, type Answer, type OpeningHarness } from "@signpost/test-backends/opening-cases";

const { secret, x, y } = createKeyMaterial();
const VERSION = "0123456789abcdef0123456789abcdef";
const VAULT = "https://op.vault.azure.net";
const KID = `${VAULT}/keys/op/${VERSION}`;
const KEY = {
  key: { kid: KID, kty: "EC-HSM", crv: "P-256", x, y, key_ops: ["sign", "verify"] },
  attributes: { enabled: true, created: 1_790_000_000, updated: 1_790_000_000 },
};

/** A transport without a network: it answers in the words of the table, and hears no signal. */
async function answered(answer: Answer, whole: object, member: string): Promise<object> {
  if (answer === "silence") return new Promise<never>(() => {});
  if (answer === "outage") throw Object.assign(new Error("made up"), { statusCode: 503 });
  if (answer === "refusal") {
    throw Object.assign(new Error("made up"), { statusCode: 403, code: "Forbidden", innerCode: "ForbiddenByRbac" });
  }
  return answer === "incomplete" ? { ...whole, [member]: undefined } : whole;
}

function signed(value: string): object {
  const der = signDigest(Buffer.from(value, "base64url"), secret);
  return { kid: KID, value: Buffer.from(ecdsaDerToRaw(der)).toString("base64url") };
}

const harness: OpeningHarness = {
  connect: (next) => {
    const api: AzureKeyVaultApi = {
      getKey: () => answered(next("readKey"), KEY, "key"),
      sign: ({ value }) => answered(next("sign"), signed(value), "value"),
      listKeyVersions: () => Promise.reject(new Error("not reached")),
    };
    return { open: (common) => openAzureKeyVaultSigner({ vault: VAULT, key: "op", api, ...common }) };
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
