import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Meter } from "@opentelemetry/api";
import { type GuardedSigner, SIGN_CHANNEL, type SignEvent } from "@signpost/core";

/** Records every signature of this process. Returns a function that stops it. */
export function recordSigning(meter: Meter, signers: readonly GuardedSigner[]): () => void {
  // The SDK's default buckets are for milliseconds.
  const advice = { explicitBucketBoundaries: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5] };
  const seconds = { unit: "s", advice };
  // A histogram also counts: the rate of calls, and of each code, is the rate of `signpost.sign.duration`.
  const duration = meter.createHistogram("signpost.sign.duration", { ...seconds, description: "In the backend" });
  const queue = meter.createHistogram("signpost.sign.queue", { ...seconds, description: "Waiting for a slot" });
  const retries = meter.createCounter("signpost.sign.retries", { description: "Attempts after the first" });
  const hedges = meter.createCounter("signpost.sign.hedges", { description: "Attempts at the same time as another" });
  const ready = meter.createObservableGauge("signpost.signer.ready", { description: "1 ready, 0.5 degraded, 0 down" });

  const onSign = (message: unknown): void => {
    const { uri, place, attempts, hedges: sent = 0, hedgeWon, queueMs, backendMs, code } = message as SignEvent;
    // Each has few values, and none is about a user, so they are safe as labels.
    const attributes = {
      "signpost.key": uri,
      ...(place !== undefined && { "signpost.place": place }),
      ...(code !== undefined && { "error.type": code }),
    };
    duration.record(backendMs / 1000, attributes);
    queue.record(queueMs / 1000, { "signpost.key": uri });
    if (attempts > 1) retries.add(attempts - 1, { "signpost.key": uri });
    if (sent > 0) hedges.add(sent, { "signpost.key": uri, "signpost.hedge.won": hedgeWon === true });
  };
  const value = { ready: 1, degraded: 0.5, down: 0 };
  ready.addCallback((result) => {
    for (const signer of signers) result.observe(value[signer.health().status], { "signpost.key": signer.uri });
  });
  subscribe(SIGN_CHANNEL, onSign);
  return () => void unsubscribe(SIGN_CHANNEL, onSign);
}
