// Campaigns with a defect that was put in on purpose. Prints, as JSON, the rules that each has broken, by its name. A defect that
// breaks no rule is one that the judge cannot see. Run by test/e2e/faults-judge.test.ts.
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { FaultyBackend } from "./backend.ts";
import { startLocal } from "./backends/local.ts";
import { runCampaign, type CampaignOptions } from "./campaign.ts";
import { makePlan, narrowed, type Plan } from "./plan.ts";
import type { Provider } from "./provider.ts";
import { allFindings } from "./report.ts";

/** A defect of the OP, or of a backend. */
interface Defect {
  readonly issue?: (subject: string, usual: Provider["issue"]) => Promise<string>;
  readonly published?: Provider["published"];
  readonly faults?: FaultyBackend["faults"];
  readonly open?: FaultyBackend["open"];
  readonly plan?: Plan;
}

const SHORT = narrowed(makePlan(1, 40, ["rotation", "shutdown"]), ["rotation", "shutdown"]);
const WITH_A_FAULT = makePlan(1, 40, ["unavailable"]);
/** One call in ten. */
const isHit = (subject: string): boolean => subject.endsWith("7");
const kept: string[] = [];
let last = "";

const DEFECTS: Readonly<Record<string, Defect>> = {
  none: {},
  "a bit of a signature is wrong": {
    issue: async (subject, usual) => {
      const token = await usual(subject);
      return isHit(subject) ? `${token.slice(0, -8)}AAAAAAAA` : token;
    },
  },
  "a caller gets the token of another": {
    issue: async (subject, usual) => {
      const [token, other] = [await usual(subject), last];
      last = token;
      return isHit(subject) && other !== "" ? other : token;
    },
  },
  "the key is not published": { published: () => new Map() },
  "an error of another class": {
    issue: async (subject, usual) => {
      if (isHit(subject)) throw new TypeError("fetch failed");
      return usual(subject);
    },
  },
  "a failure with no fault": {
    issue: async (subject, usual) => {
      if (isHit(subject)) throw new SignerError("unavailable", "made up");
      return usual(subject);
    },
  },
  "a code that the fault does not give": {
    plan: narrowed(WITH_A_FAULT, ["unavailable"]),
    faults: { unavailable: { on: () => void (failing = "access_denied"), off: () => void (failing = undefined) } },
    issue: (subject, usual) => failOr(subject, usual),
  },
  "a wrong transient": {
    plan: WITH_A_FAULT,
    faults: { unavailable: { on: () => void (failing = "unavailable"), off: () => void (failing = undefined) } },
    issue: async (subject, usual) => {
      try {
        return await failOr(subject, usual);
      } catch (error) {
        if (error instanceof SignerError) Object.defineProperty(error, "transient", { value: false });
        throw error;
      }
    },
  },
  "a fault that hits nothing": {
    plan: WITH_A_FAULT,
    faults: { unavailable: { on: () => undefined, off: () => undefined } },
  },
  "a fault that the signer does not feel": {
    plan: WITH_A_FAULT,
    faults: { unavailable: { on: () => undefined, off: () => undefined, effect: "either", felt: () => 7 } },
  },
  "a fault that does not end": {
    plan: WITH_A_FAULT,
    faults: { unavailable: { on: () => void (failing = "unavailable"), off: () => undefined, recoveryMs: 200 } },
    issue: (subject, usual) => failOr(subject, usual),
  },
  "a promise that is late": {
    issue: async (subject, usual) => {
      if (subject === "user-7") await pause(1_800);
      return usual(subject);
    },
  },
  "a promise that hangs": {
    issue: (subject, usual) => (subject === "user-7" ? new Promise(() => undefined) : usual(subject)),
  },
  "a socket that stays open": {
    issue: async (subject, usual) => {
      if (subject === "user-7") leaked.push(createServer().listen(0, "127.0.0.1"));
      return usual(subject);
    },
  },
  "a session that stays open": { open: () => ["1 sessions in the module"] },
  "memory that stays in use": {
    plan: narrowed(makePlan(1, 400, ["rotation", "wall-clock-back", "wall-clock-frozen", "monotonic-clock-frozen"]), [
      "wall-clock-back",
      "rotation",
      "wall-clock-frozen",
      "monotonic-clock-frozen",
    ]),
    issue: async (subject, usual) => {
      kept.push(Buffer.alloc(100_000, subject).toString());
      return usual(subject);
    },
  },
  "a rejection that nothing handles": {
    issue: async (subject, usual) => {
      if (subject === "user-7") void Promise.reject(new Error("made up"));
      return usual(subject);
    },
  },
  "a warning about too many listeners": {
    issue: async (subject, usual) => {
      if (subject === "user-7") process.emitWarning("made up", { type: "MaxListenersExceededWarning" });
      return usual(subject);
    },
  },
};

let failing: "access_denied" | "unavailable" | undefined;
const leaked: { close(): void }[] = [];

function failOr(subject: string, usual: Provider["issue"]): Promise<string> {
  return failing === undefined ? usual(subject) : Promise.reject(new SignerError(failing, "made up"));
}

async function rulesOf({ issue, published, faults, open, plan = SHORT }: Defect): Promise<readonly string[]> {
  const local = await startLocal();
  const backend: FaultyBackend = { ...local, ...(faults && { faults }), ...(open && { open }) };
  const spoil: CampaignOptions["spoil"] = (provider) => {
    const usual = provider.issue;
    if (issue !== undefined) Object.assign(provider, { issue: (subject: string) => issue(subject, usual) });
    if (published !== undefined) Object.assign(provider, { published });
    return provider;
  };
  const patience = { deadlineMs: 1_000, hangMs: 1_500, goneMs: 200 };
  const result = await runCampaign({ name: "local", backend, plan, spoil, patience });
  for (const server of leaked.splice(0)) server.close();
  kept.length = 0;
  failing = undefined;
  return [...new Set(allFindings(result).map(({ rule }) => rule))];
}

const rules: Record<string, readonly string[]> = {};
for (const [name, defect] of Object.entries(DEFECTS)) rules[name] = await rulesOf(defect);
process.stdout.write(JSON.stringify(rules));
