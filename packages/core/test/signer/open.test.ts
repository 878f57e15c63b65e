import { describe, expect, test } from "vitest";
import { ConfigurationError, guardSigner, openSigner, type SignerAdapter } from "@signpost/core";
import { failure } from "../support/failure.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

function adapter(scheme: string, guarded: boolean): SignerAdapter & { readonly opened: string[] } {
  const opened: string[] = [];
  return {
    scheme,
    opened,
    open: async (uri) => {
      opened.push(uri);
      const { signer } = scriptedSigner();
      return guarded ? guardSigner(signer) : signer;
    },
  };
}

describe("openSigner", () => {
  test("hands the whole URI, case kept, to the adapter with its scheme", async () => {
    const [a, b] = [adapter("awskms", true), adapter("pkcs11", true)];
    await openSigner("awskms:///alias/Op-2026", [a, b]);
    expect([a.opened, b.opened]).toEqual([["awskms:///alias/Op-2026"], []]);
  });

  test.each([
    ["AWSKMS:///alias/Op-2026", "awskms", "awskms:///alias/Op-2026"],
    ["AwsKms:///alias/Op-2026", "awskms", "awskms:///alias/Op-2026"],
    ["my-hsm:A:B", "My-HSM", "My-HSM:A:B"],
  ])(
    "takes the scheme of %s in any case, and hands it over as the adapter %s spells it",
    async (uri, scheme, given) => {
      const its = adapter(scheme, true);
      await openSigner(uri, [its]);
      expect(its.opened).toEqual([given]);
    },
  );

  test.each<[unknown, RegExp]>([
    ["secret:pin", /starts with one of the adapters' schemes: awskms:, pkcs11:$/],
    [7, /schemes: awskms:, pkcs11:, got 7$/],
    [undefined, /schemes: awskms:, pkcs11:, got undefined$/],
  ])("refuses %j, and shows it only if it is no text", async (uri, message) => {
    const call = openSigner(uri as string, [adapter("awskms", true), adapter("pkcs11", true)]);
    await expect(call).rejects.toMatchObject({ argument: "uri", message: expect.stringMatching(message) });
  });

  test("without adapters says that there are none", async () => {
    const message = expect.stringMatching(/adapters' schemes: none given$/);
    await expect(openSigner("local:", [])).rejects.toMatchObject({ argument: "uri", message });
  });

  test.each([true, false])("gives a guarded signer when the adapter's own is guarded: %s", async (guarded) => {
    const signer = await openSigner("x:", [adapter("x", guarded)]);
    expect(signer.health().status).toBe("ready");
  });

  test.each(["pkcs11:token=op?pin-value=1234", "no scheme", "", "PKCS11:token=op", "1x:", "awskmsx:", "-awskms:"])(
    "refuses %j without repeating it, and names the schemes there are",
    async (uri) => {
      const error = await failure(openSigner(uri, [adapter("awskms", true), adapter("local", true)]));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({ argument: "uri", message: expect.stringContaining("awskms:, local:") });
      expect(String(error)).not.toContain("1234");
    },
  );

  test("refuses a policy that cannot work before anything is opened", async () => {
    const bare = adapter("x", false);
    const error = await failure(openSigner("x:", [bare], { policy: { deadlineMs: 0 } }));
    expect(error).toMatchObject({ argument: "policy.deadlineMs" });
    expect(bare.opened).toEqual([]);
  });

  test("refuses two adapters with one scheme", async () => {
    const error = await failure(openSigner("x:", [adapter("x", true), adapter("X", true)]));
    expect(error).toMatchObject({ argument: "adapters" });
  });
});
