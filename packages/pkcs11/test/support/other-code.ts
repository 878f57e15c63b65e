import { expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { closeAllSessions, finalize, logOut } from "./module-user.ts";
import { outcome, until } from "./signing.ts";

/** What a signer must survive, whatever the module: other code in the process that uses the module carelessly. */
export function otherCodeTests(
  where: () => { readonly module: string; readonly token: string },
  open: () => Promise<GuardedSigner>,
): void {
  test.each<[what: string, act: (module: string, token: string) => void]>([
    ["closes all sessions", closeAllSessions],
    ["logs everybody out", logOut],
    ["finalizes the module", finalize],
  ])("signing goes on when other code in the process %s", async (_what, act) => {
    const { module, token } = where();
    const signer = await open();
    expect(await outcome(signer)).toBe("signed");
    act(module, token);
    const codes = await Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
    expect(codes.filter((code) => code !== "signed" && code !== "unavailable")).toEqual([]);
    await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready");
    await signer.close();
  });
}
