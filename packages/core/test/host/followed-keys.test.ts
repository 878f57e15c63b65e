import { beforeEach, describe, expect, test } from "vitest";
import { createKeySet, type ActiveKey, type ConfigurationError, type KeySet, type SignerError } from "@signpost/core";
import { followKeys } from "@signpost/core/adapter";
import { scriptedSigner, type ScriptedSigner } from "../support/scripted-signer.ts";

let signers: Readonly<Record<"a" | "b" | "c", ScriptedSigner>>;
beforeEach(() => {
  signers = { a: scriptedSigner(), b: scriptedSigner(), c: scriptedSigner() };
});

/** A set of these keys, the first active. */
function setOf(...names: readonly ("a" | "b" | "c")[]): KeySet {
  return createKeySet(names.map((keyId) => ({ keyId, signer: signers[keyId].signer })));
}

function follow(first: KeySet) {
  let set: KeySet | Error = first;
  const keys = followKeys(() => {
    if (set instanceof Error) throw set;
    return set;
  });
  return {
    keys,
    rotate: (next: KeySet | Error) => {
      set = next;
    },
  };
}

const unknown = expect.objectContaining({ name: "ConfigurationError", argument: "kid" });
const withdrawn = expect.objectContaining({
  code: "unavailable",
  message: expect.stringContaining('the key with kid "a" was withdrawn'),
});

describe("the key with a kid", () => {
  test("is the active one, and no other at first", () => {
    const { keys } = follow(setOf("a", "b"));
    expect(keys.signing("a")).toBe(keys.current().active);
    for (const kid of ["b", "c", ""]) expect(() => keys.signing(kid)).toThrow(unknown as ConfigurationError);
  });

  test("is the previous one while it is published, whichever call saw the rotation", () => {
    for (const look of ["current", "lastKnown", "signing", "kidWhere"] as const) {
      const { keys, rotate } = follow(setOf("a"));
      const before = keys.current().active;
      rotate(setOf("b", "a"));
      if (look === "current") keys.current();
      if (look === "lastKnown") keys.lastKnown();
      if (look === "kidWhere") keys.kidWhere(() => false);
      expect(keys.signing("a")).toBe(before);
      expect(keys.signing("b")).toBe(keys.current().active);
    }
  });

  test("is not one that is two rotations old", () => {
    const { keys, rotate } = follow(setOf("a"));
    for (const next of [setOf("b", "a"), setOf("c", "b", "a")]) {
      rotate(next);
      keys.current();
    }
    expect(keys.signing("b").keyId).toBe("b");
    expect(() => keys.signing("a")).toThrow(unknown as ConfigurationError);
  });

  test("is not the previous one once it was withdrawn", () => {
    const { keys, rotate } = follow(setOf("a"));
    rotate(setOf("b"));
    expect(() => keys.signing("a")).toThrow(withdrawn as SignerError);
  });

  test("is still the previous one if another key left the set", () => {
    const { keys, rotate } = follow(setOf("a", "c"));
    rotate(setOf("b", "a", "c"));
    keys.current();
    rotate(setOf("b", "a"));
    expect(keys.signing("a").keyId).toBe("a");
  });
});

test("the kid of a key is found among the active and the previous one", () => {
  const { keys, rotate } = follow(setOf("a"));
  const isOf = (signer: ScriptedSigner) => (key: ActiveKey) => key.publicKey.x === signer.signer.publicKey.x;
  expect([keys.kidWhere(isOf(signers.a)), keys.kidWhere(isOf(signers.b))]).toEqual(["a", undefined]);
  rotate(setOf("b", "a"));
  expect([keys.kidWhere(isOf(signers.a)), keys.kidWhere(isOf(signers.b))]).toEqual(["a", "b"]);
  expect(keys.kidWhere(() => true)).toBe("b");
});

test("while the source fails, the last known set is known, and all else throws what it throws", () => {
  const first = setOf("a");
  const { keys, rotate } = follow(first);
  const error = new Error("the source fails");
  rotate(error);
  expect(keys.lastKnown()).toBe(first);
  for (const call of [() => keys.current(), () => keys.signing("a"), () => keys.kidWhere(() => true)]) {
    expect(call).toThrow(error);
  }
});

describe("a signature", () => {
  const failed = new Error("failed");

  test("counts if its key is still published afterward", async () => {
    const { keys, rotate } = follow(setOf("a"));
    const { active } = keys.current();
    expect(await keys.whilePublished(active, Promise.resolve("signature"))).toBe("signature");
    rotate(setOf("b", "a"));
    expect(await keys.whilePublished(active, Promise.resolve("signature"))).toBe("signature");
    await expect(keys.whilePublished(active, Promise.reject(failed))).rejects.toBe(failed);
  });

  test("does not count if its key was withdrawn, which says more than its failure", async () => {
    const { keys, rotate } = follow(setOf("a"));
    const { active } = keys.current();
    rotate(setOf("b"));
    const error: unknown = await keys.whilePublished(active, Promise.resolve("signature")).catch((e: unknown) => e);
    expect(error).toEqual(withdrawn);
    expect(error).not.toHaveProperty("cause");
    await expect(keys.whilePublished(active, Promise.reject(failed))).rejects.toMatchObject({
      code: "unavailable",
      cause: failed,
    });
  });

  test("that failed says so while the source fails", async () => {
    const { keys, rotate } = follow(setOf("a"));
    const { active } = keys.current();
    rotate(new Error("the source fails"));
    await expect(keys.whilePublished(active, Promise.reject(failed))).rejects.toBe(failed);
    await expect(keys.whilePublished(active, Promise.resolve("x"))).rejects.toThrow("the source fails");
  });
});
