import { SignpostError } from "@signpost/core";
import { CliError } from "../../../packages/cli/src/program/cli-error.ts";
import { isMarked, leakIn } from "./leaks.ts";
import { type Attempt, type AttemptRules, BrokenProperty, type Probe } from "./target.ts";

/** A probe for one input. */
export function createProbe(input: Uint8Array): Probe {
  const marked = isMarked(input);
  const refused = (error: unknown, { mayShow }: AttemptRules): Attempt<never> => {
    if (error instanceof BrokenProperty) throw error;
    if (!isOurs(error))
      throw new BrokenProperty(`threw something else than one of our errors: ${describe(error)}`, { cause: error });
    if (error.code === "" || error.message === "") throw new BrokenProperty("an error has no code or no message");
    const leak = marked && mayShow === undefined ? leakIn(error) : undefined;
    if (leak !== undefined) throw new BrokenProperty(`an error shows a marked secret, as ${leak}`, { cause: error });
    return { ok: false, error, outcome: outcomeOf(error) };
  };
  return {
    attempt: (parse, rules = {}) => {
      try {
        return { ok: true, value: parse(), outcome: "read" };
      } catch (error) {
        return refused(error, rules);
      }
    },
    settle: async (parse, rules = {}) => {
      try {
        return { ok: true, value: await parse(), outcome: "read" };
      } catch (error) {
        return refused(error, rules);
      }
    },
  };
}

type OwnError = Error & { readonly code: string };

function isOurs(error: unknown): error is OwnError {
  return (error instanceof SignpostError || error instanceof CliError) && typeof error.code === "string";
}

/** The kind of an error: its code, and its message without what differs between two inputs. */
function outcomeOf({ code, message }: OwnError): string {
  const kind = message
    .slice(0, 200)
    .replaceAll(/"[^"]*"|\d+/g, "#")
    .replaceAll(/\S*[^\sA-Za-z.,:;()'-]\S*/g, "*");
  return `${code}: ${kind.slice(0, 80)}`;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return `${error.name}: ${error.message.slice(0, 200)}`;
}
