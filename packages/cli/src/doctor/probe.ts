import { randomBytes } from "node:crypto";
import { signWith, type GuardedSigner } from "@signpost/core";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/**
 * What is signed. A token's signing input consists of base64url characters and a dot (RFC 7515 section 5.1). This text has
 * spaces and line breaks, so that no signature over it is ever that of a token.
 */
export function probeText(): Uint8Array {
  const text = `This is a probe of signpost doctor, and not a token.\n${randomBytes(16).toString("hex")}\n`;
  return new TextEncoder().encode(text);
}

/** Signs a probe. `signWith` verifies the signature with the public key. */
export async function probeOnce(signer: GuardedSigner, signal: AbortSignal): Promise<void> {
  await signWith({ keyId: "probe", publicKey: signer.publicKey, signer }, probeText(), { signal });
}

/** How long signatures took, in milliseconds. */
export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export async function measureLatency(signer: GuardedSigner, count: number, signal: AbortSignal): Promise<Latency> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    await probeOnce(signer, signal);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.ceil(share * times.length) - 1] ?? 0;
  return { count, p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** Tokens wait for each signature, and people wait for tokens. */
const SLOW_MS = 250;

export function latencyFinding({ count, p50, p95, max }: Latency): Finding {
  const text = `${count} signatures: p50 ${ms(p50)}, p95 ${ms(p95)}, slowest ${ms(max)}`;
  if (p50 <= SLOW_MS) return note("latency", text);
  return warning("latency", text, "Each token waits this long. Use a Region or a host that is nearer");
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

/** What became of the probe. */
export function probeFinding(error: { readonly code: string; readonly message: string } | undefined): Finding {
  if (error === undefined) return ok("probe", "signs, and the signature verifies with the public key");
  const todo =
    error.code === "access_denied"
      ? "The message says what was refused. Signing needs credentials that may sign with this key, from this network"
      : "Do not use this key until the cause is known";
  return problem("probe", error.message, todo);
}
