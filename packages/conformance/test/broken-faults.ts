import { guardSigner, SignerError } from "@signpost/core";
import type { GuardPolicy, Signer, SignerErrorCode } from "@signpost/core";
import type { Fault, SignerHarness } from "@signpost/conformance";
import { FAULT_EXPECTATIONS } from "../src/fault-expectations.ts";
import { changed, harnessOf, openingWith } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";
import { ALL_FAULTS, createReferenceBackend } from "./reference.ts";
import type { ReferenceBackend } from "./reference.ts";

const SIGNING_FAULTS = ALL_FAULTS.filter((fault) => FAULT_EXPECTATIONS[fault].fails === "sign");
const OPENING_FAULTS = ALL_FAULTS.filter((fault) => FAULT_EXPECTATIONS[fault].fails === "open");
const SILENT_FAULTS = ALL_FAULTS.filter((fault) => FAULT_EXPECTATIONS[fault].silent === true);

const UNANSWERED_FAULTS = ["hang", "hang-after-headers"] as const;

const signing = (fault: Fault): string =>
  `signing while ${fault} rejects with ${codes(fault)} in time, and works after it`;
const opening = (fault: Fault): string => `opening while ${fault} works or rejects with a SignerError, in bounded time`;
const refusing = (fault: Fault): string => `opening while ${fault} rejects with ${codes(fault)}, and works after it`;
const ending = (fault: Fault): string => `opening while ${fault} ends at its deadline, and leaves no listener`;
const codes = (fault: Fault): string => FAULT_EXPECTATIONS[fault].codes.join(" or ");

const never = (): Promise<never> => new Promise(() => undefined);
const wrongCode = (fault: Fault): SignerErrorCode =>
  FAULT_EXPECTATIONS[fault].codes.includes("key_not_found") ? "access_denied" : "key_not_found";

/** While its fault is on, every call of the signer ends so. */
const whileOn = (end: () => Promise<Uint8Array>) =>
  harnessOf((bare, backend) => ({ sign: (...call) => (backend.fault() === undefined ? bare.sign(...call) : end()) }));

/** While its fault is on, opening ends so. */
function openingBy(
  end: (open: ReferenceBackend["open"], policy: GuardPolicy | false | undefined) => Promise<Signer>,
): () => SignerHarness {
  return () => {
    const backend = createReferenceBackend();
    return {
      ...backend.harness,
      open: (policy) => (backend.fault() === undefined ? backend.open(policy) : end(backend.open, policy)),
    };
  };
}

const ofEverySigningFault = (fault: Fault): BrokenSigner[] => [
  {
    check: signing(fault),
    broken: "passes on what the backend says",
    complaint: /rejected with TypeError: bad answer, expected a SignerError/,
    harness: whileOn(() => Promise.reject(new TypeError("bad answer"))),
  },
  {
    check: signing(fault),
    broken: "gives it another code",
    // A bare call to a silent backend ends with its signal.
    complaint: new RegExp(
      `rejected with code (key_not_found|access_denied), expected (?:aborted or )?${codes(fault)}: no`,
    ),
    harness: whileOn(() => Promise.reject(new SignerError(wrongCode(fault), "no"))),
  },
  {
    check: signing(fault),
    broken: "says that its caller gave up",
    complaint: new RegExp(`rejected with code aborted, expected ${codes(fault)}: no$`),
    // Only the signal of the caller ends a bare call to a silent backend.
    forms: SILENT_FAULTS.includes(fault) ? ["guarded"] : ["bare", "guarded"],
    harness: whileOn(() => Promise.reject(new SignerError("aborted", "no"))),
  },
  {
    check: signing(fault),
    broken: "does not get over it",
    complaint: /the session is gone/,
    harness: () => ({ ...whileOnAndAfter(), recoveryMs: 100 }),
  },
  {
    check: opening(fault),
    broken: "passes on what the backend says",
    complaint: /rejected with TypeError: bad answer, expected a SignerError/,
    harness: openingBy(() => Promise.reject(new TypeError("bad answer"))),
  },
];

const ofEveryOpeningFault = (fault: Fault): BrokenSigner[] => [
  {
    check: refusing(fault),
    broken: "opens all the same",
    complaint: /gave a signer, expected/,
    harness: openingBy(async () => ({
      uri: "",
      publicKey: {} as Signer["publicKey"],
      sign: never,
      close: async () => undefined,
    })),
  },
  {
    check: refusing(fault),
    broken: "gives it another code",
    complaint: /rejected with code key_not_found, expected/,
    harness: openingBy(() => Promise.reject(new SignerError("key_not_found", "no"))),
  },
  {
    check: refusing(fault),
    broken: "passes on what the backend says",
    complaint: /rejected with TypeError: bad answer, expected a SignerError/,
    harness: openingBy(() => Promise.reject(new TypeError("bad answer"))),
  },
  {
    check: refusing(fault),
    broken: "shows its credentials in the error",
    complaint: /shows secrets\[0\]/,
    harness: () => {
      const backend = createReferenceBackend();
      const [code = "unavailable"] = FAULT_EXPECTATIONS[fault].codes;
      const refusal = new SignerError(code, `refused: ${backend.key.secret}`);
      const open: SignerHarness["open"] = (policy) =>
        backend.fault() === undefined ? backend.open(policy) : Promise.reject(refusal);
      return { ...backend.harness, open };
    },
  },
  {
    check: refusing(fault),
    broken: "remembers the refusal",
    complaint: /refused before/,
    harness: () => {
      const backend = createReferenceBackend();
      let refusals = 0;
      const open = async (policy?: GuardPolicy | false): Promise<Signer> => {
        if (refusals > 0) throw new SignerError("access_denied", "refused before");
        return backend.open(policy).catch((error: unknown) => {
          refusals += 1;
          throw error;
        });
      };
      return { ...backend.harness, open };
    },
  },
];

const ofEveryUnansweredFault = (fault: Fault): BrokenSigner[] => [
  {
    check: ending(fault),
    broken: "has no deadline",
    complaint: /opening while .* with a deadline of 500 ms has not settled within 2000 ms/,
    harness: openingWith(({ openWith }, { openDeadlineMs, ...limits }) =>
      openWith({ ...limits, openDeadlineMs: openDeadlineMs === undefined ? undefined : 60_000 }),
    ),
  },
  {
    check: ending(fault),
    broken: "listens for good",
    complaint: /abort listeners were left after opening/,
    harness: openingWith(({ openWith, fault: isOn }, limits) => {
      if (isOn() !== undefined) limits.signal?.addEventListener("abort", () => undefined);
      return openWith(limits);
    }),
  },
  {
    check: ending(fault),
    broken: "passes on what the deadline says",
    complaint: /rejected with DOMException|rejected with TimeoutError/,
    harness: openingWith(async ({ openWith, fault: isOn }, limits) => {
      if (isOn() !== undefined) throw new DOMException("no time left", "TimeoutError");
      return openWith(limits);
    }),
  },
  {
    check: ending(fault),
    broken: "never opens again",
    complaint: /the module is stuck/,
    harness: () => {
      const backend = createReferenceBackend();
      let isStuck = false;
      const openWith: ReferenceBackend["openWith"] = (limits) => {
        isStuck ||= backend.fault() !== undefined;
        return backend.openWith(limits);
      };
      const open = async (policy?: GuardPolicy | false): Promise<Signer> => {
        if (isStuck) throw new SignerError("key_not_found", "the module is stuck");
        return backend.open(policy);
      };
      return { ...backend.harness, open, openWith };
    },
  },
];

/** Signers that fail wrongly when their backend fails. */
export const BROKEN_FAULTS: readonly BrokenSigner[] = [
  ...SIGNING_FAULTS.flatMap(ofEverySigningFault),
  ...SIGNING_FAULTS.filter((fault) => FAULT_EXPECTATIONS[fault].mayRecover !== true).map((fault) => ({
    check: signing(fault),
    broken: "does not notice",
    complaint: /gave a signature, expected/,
    harness: harnessOf((_bare, { key }) => ({ sign: async (digest) => key.sign(digest) })),
  })),
  ...SILENT_FAULTS.map((fault) => ({
    check: signing(fault),
    broken: "hangs with its backend",
    complaint: /has not settled within 3[56]00 ms/,
    harness: whileOn(never),
  })),
  ...UNANSWERED_FAULTS.flatMap(ofEveryUnansweredFault),
  ...OPENING_FAULTS.flatMap(ofEveryOpeningFault),
  {
    check: signing("slow"),
    broken: "gives a late answer to the next caller",
    complaint: /does not verify/,
    harness: harnessOf((_bare, backend) => {
      const late: Uint8Array[] = [];
      return {
        sign: async (digest, options) => {
          const signature = backend.key.sign(digest);
          if (backend.fault() === undefined) return late.shift() ?? signature;
          late.push(signature);
          throw new SignerError("timeout", "no answer", { cause: options?.signal?.reason });
        },
      };
    }),
  },
  {
    check: signing("corrupted-request"),
    broken: "calls corruption on the way final",
    complaint: /transient flag of its integrity error/,
    harness: whileOn(() => Promise.reject(new SignerError("integrity", "the digest did not arrive as it was sent"))),
  },
  {
    check: signing("access-denied"),
    broken: "shows its credentials in the error",
    complaint: /shows secrets\[0\]/,
    harness: harnessOf((bare, { key, fault }) => ({
      sign: async (...call) => {
        if (fault() === undefined) return bare.sign(...call);
        throw new SignerError("access_denied", "refused", { cause: new Error(`Authorization: ${key.secret}`) });
      },
    })),
  },
  {
    check: signing("throttle"),
    broken: "says that it may not be tried again",
    complaint: /transient is false on an error with code throttled/,
    harness: whileOn(() =>
      Promise.reject(Object.defineProperty(new SignerError("throttled", "no"), "transient", { value: false })),
    ),
  },
  {
    check: signing("access-denied"),
    broken: "feels well while every call fails",
    complaint: /health\(\) is ready right after/,
    forms: ["guarded"],
    harness: feelingAlways("ready"),
  },
  {
    check: signing("access-denied"),
    broken: "never feels well again",
    complaint: /health\(\) after access-denied is over/,
    forms: ["guarded"],
    harness: feelingAlways("down"),
  },
  {
    check: opening("access-denied"),
    broken: "gives it another code",
    complaint: /rejected with code wrong_key, expected/,
    harness: openingBy(() => Promise.reject(new SignerError("wrong_key", "no"))),
  },
  {
    check: opening("access-denied"),
    broken: "shows its credentials in the error",
    complaint: /shows secrets\[0\]/,
    harness: () => {
      const backend = createReferenceBackend();
      const refusal = new SignerError("access_denied", `refused: ${backend.key.secret}`);
      return {
        ...backend.harness,
        open: (policy) => (backend.fault() === undefined ? backend.open(policy) : Promise.reject(refusal)),
      };
    },
  },
  {
    check: opening("hang"),
    broken: "hangs with its backend",
    complaint: /has not settled within 15000 ms/,
    forms: ["guarded"],
    harness: openingBy(never),
  },
];

function whileOnAndAfter(): SignerHarness {
  const backend = createReferenceBackend();
  const open = async (policy?: GuardPolicy | false): Promise<Signer> => {
    const bare = changed(await backend.open(false), backend, ({ sign }) => {
      let failed = false;
      return {
        sign: async (...call) => {
          failed ||= backend.fault() !== undefined;
          if (failed && backend.fault() === undefined) throw new SignerError("unavailable", "the session is gone");
          return sign(...call);
        },
      };
    });
    return policy === false ? bare : guardSigner(bare, policy);
  };
  return { ...backend.harness, open };
}

function feelingAlways(status: "ready" | "down"): () => SignerHarness {
  return () => {
    const backend = createReferenceBackend();
    const open = async (policy?: GuardPolicy | false): Promise<Signer> => {
      const guarded = guardSigner(await backend.open(false), policy === false ? {} : policy);
      const health = (): unknown => ({ status, since: new Date(0), notes: [] });
      return { ...guarded, health, [Symbol.asyncDispose]: () => guarded.close() } as Signer;
    };
    return { ...backend.harness, open };
  };
}
