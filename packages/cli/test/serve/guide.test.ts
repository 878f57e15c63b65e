import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { createKeyBook } from "../../src/serve/live/key-book.ts";
import { createLive } from "../../src/serve/live/serving.ts";
import { collectMetrics } from "../../src/serve/metrics/collect.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import { createKeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";
import { runApp } from "../support/run-app.ts";

const guide = readFileSync(new URL("../../../../docs/cli-serve.md", import.meta.url), "utf8");

test("the guide has every metric, with its type and labels, in the order of the server", async () => {
  await using folder = await createKeyFolder();
  const publicKey = await folder.addKey("op.pem");
  await folder.write("signpost.config.json", { issuer: "https://op.example", keys: [{ publicKey }] });
  const context = recordingContext(folder.path);
  const live = createLive(
    createKeyBook(context, () => undefined),
    {},
  );
  await live.adopt(await loadConfig(context, undefined), false);
  const counters = createCounters();
  counters.requests.add({ port: "public", route: "jwks", method: "GET", code: "200" });
  counters.keyFailures.add({ code: "unavailable" });
  const metrics = collectMetrics({
    version: "1",
    configName: "signpost.config.json",
    startedAt: new Date(),
    live,
    reloader: { last: () => undefined },
    counters,
    pathname: "/jwks",
    isStopping: false,
    listeners: {
      admin: { origin: "", connections: () => 0, lastResponses: () => undefined, close: async () => undefined },
    },
  });
  const documented = [...guide.matchAll(/^\| `((?:signpost|process)_\w+)` \| (counter|gauge) \| (.*?) ?\| /gm)];
  expect(documented.map(([, name, type, labels = ""]) => [name, type, labels.match(/\w+/g) ?? []])).toEqual(
    metrics.map(({ name, type, samples }) => [name, type, Object.keys(samples[0]?.labels ?? {})]),
  );
});

test("the guide names every option", async () => {
  const { stdout } = await runApp(["serve", "--help"]);
  const options = [...stdout.matchAll(/^ {5}\[(--[\w-]+)\]/gm)].map(([, name = ""]) => name);
  expect(options.length).toBeGreaterThan(8);
  // What all commands have is explained with them.
  expect(options.filter((name) => name !== "--config" && !guide.includes(`\`${name}`))).toEqual([]);
});
