import { openLocalSigner } from "@signpost/local";
import { type GuardedSigner, guardSigner, SignerError } from "@signpost/core";
import { expect, test, vi } from "vitest";
import type { LoadedConfig } from "../src/config/load-config.ts";
import { createLiveKeys } from "../src/keys/live-keys.ts";
import { ISSUER } from "./support/claims.ts";

// What happens to the keys that a configuration no longer has.

const loadedWith = (uri: string): LoadedConfig => ({
  config: { issuer: ISSUER, socket: { path: "/run/s/s.sock" }, maxTokenLifetimeSeconds: 3600, keys: [{ uri }] },
  schedule: undefined,
  legacyKeys: [],
  audit: undefined,
});

test("a key that cannot be closed is reported, and the other keys are closed and used", async () => {
  const closed: string[] = [];
  const unclosed: unknown[] = [];
  const ignore = (): void => undefined;
  const open = async (uri: string): Promise<GuardedSigner> => {
    const { publicKey, sign, close } = await openLocalSigner();
    return guardSigner({
      uri,
      publicKey,
      sign,
      close: async () => {
        closed.push(uri);
        await close();
        if (uri === "local:a") throw new SignerError("unavailable", "the session is gone");
      },
    });
  };
  const events = { onOpened: ignore, onUnopened: ignore, onUnclosed: (error: unknown) => void unclosed.push(error) };
  const keys = createLiveKeys({ open, events, now: Date.now, signal: new AbortController().signal });
  await keys.load(loadedWith("local:a"), () => undefined);
  await keys.load(loadedWith("local:b"), () => undefined);
  await vi.waitFor(() => expect(unclosed).toMatchObject([{ code: "unavailable" }]), 10_000);
  await keys.close();
  expect(closed).toEqual(["local:a", "local:b"]);
});
