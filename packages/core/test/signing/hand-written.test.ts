import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createKeySet, type Signer, SignerError, signJws, signWith } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";

const { publicKey } = await openLocalSigner();

interface DeadSigner extends Signer {
  /** Ends every call that hangs. */
  release(): void;
  readonly calls: number;
}

/** Its calls never settle, and it ignores its signal. */
function deadSigner(): DeadSigner {
  const hanging: ((error: Error) => void)[] = [];
  return {
    uri: "example:hand-written",
    publicKey,
    sign: () => new Promise((_resolve, reject) => void hanging.push(reject)),
    close: async () => {},
    release: () => hanging.forEach((reject) => reject(new Error("released"))),
    get calls() {
      return hanging.length;
    },
  };
}

/** What a call rejects with that its caller gives up. */
async function given(up: AbortController, call: Promise<unknown>): Promise<unknown> {
  const outcome = call.catch((error: unknown) => error);
  await nextTurn();
  up.abort();
  return outcome;
}

test("calls of a dead signer without a guard are left behind 16 times, and no more are made", async () => {
  const signer = deadSigner();
  const keys = createKeySet([{ signer }]);
  const codes: unknown[] = [];
  for (let call = 0; call < 40; call += 1) {
    const up = new AbortController();
    const error = await given(up, signJws(keys, "payload", { signal: up.signal }));
    expect(error).toMatchObject({ name: "SignerError", uri: signer.uri });
    codes.push((error as SignerError).code);
  }
  expect(signer.calls).toBe(16);
  expect(codes).toEqual([...Array<string>(16).fill("aborted"), ...Array<string>(24).fill("unavailable")]);

  signer.release();
  await nextTurn();
  const up = new AbortController();
  expect(await given(up, signJws(keys, "payload", { signal: up.signal }))).toMatchObject({ code: "aborted" });
  expect(signer.calls).toBe(17);
  signer.release();
});

test.each<[what: string, fail: () => Promise<never>]>([
  ["rejects", () => Promise.reject(new SignerError("unavailable", "away"))],
  [
    "throws",
    () => {
      throw new SignerError("unavailable", "away");
    },
  ],
])("a signer that %s is named by its error, with a signal and without", async (_what, sign) => {
  const signer: Signer = { ...deadSigner(), sign };
  const { active } = createKeySet([{ signer }]);
  for (const options of [{}, { signal: new AbortController().signal }]) {
    const signing = signWith(active, new Uint8Array(1), options);
    await expect(signing).rejects.toMatchObject({ code: "unavailable", uri: signer.uri });
  }
});

test("a signal that has aborted already makes no call, and the error names the signer", async () => {
  const signer = deadSigner();
  const { active } = createKeySet([{ signer }]);
  const signing = signWith(active, new Uint8Array(1), { signal: AbortSignal.abort() });
  await expect(signing).rejects.toMatchObject({ code: "aborted", uri: signer.uri });
  expect(signer.calls).toBe(0);
});
