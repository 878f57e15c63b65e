import { afterEach, expect, test, vi } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { createKeyBook } from "../../src/serve/live/key-book.ts";
import { createLive } from "../../src/serve/live/serving.ts";
import { watchKeySet } from "../../src/serve/live/watch-key-set.ts";
import type { Log } from "../../src/serve/log.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

afterEach(() => void vi.useRealTimers());

test("a load that changes no key is no change of the key set in the log, and one that does is", async () => {
  await using folder = await createKeyFolder();
  const [a, b] = [await folder.addKey("a.pem"), await folder.addKey("b.pem")];
  const context = recordingContext(folder.path);
  const live = createLive(
    createKeyBook(context, () => undefined),
    {},
  );
  const load = async (...keys: readonly object[]): Promise<void> => {
    await folder.write("signpost.config.json", { issuer: "https://op.example", keys });
    await live.adopt(await loadConfig(context, undefined), false);
  };
  const ending = new AbortController();
  const log = vi.fn<Log>();
  await load({ keyId: "a", publicKey: a });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  watchKeySet(live, log, ending.signal);
  await load({ keyId: "a", publicKey: a });
  vi.advanceTimersByTime(2000);
  expect(log).toHaveBeenCalledTimes(1);
  await load({ keyId: "b", publicKey: b }, { keyId: "a", publicKey: a });
  vi.advanceTimersByTime(2000);
  expect(log.mock.calls.map(([, , message]) => message)).toEqual([
    "publishes a (active); cached for 1 hour",
    "publishes b (active), a (retiring); cached for 1 hour",
  ]);
  ending.abort();
});
