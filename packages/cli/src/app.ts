import {
  buildApplication,
  buildRouteMap,
  text_en,
  type Application,
  type ApplicationText,
  UnexpectedPositionalError,
} from "@stricli/core";
import { benchCommand } from "./bench/command.ts";
import { certCommands } from "./cert/command.ts";
import { checkCommand } from "./check/command.ts";
import { completeCommand } from "./complete/command.ts";
import { csrCommand } from "./csr/command.ts";
import { doctorCommand } from "./doctor/command.ts";
import { jwksCommand } from "./jwks/command.ts";
import { keygenCommand } from "./keygen/command.ts";
import { kidCommand } from "./kid/command.ts";
import { kubernetesCommand } from "./kubernetes/command.ts";
import { rotateCommands } from "./rotate/command.ts";
import { serveCommand } from "./serve/command.ts";
import { signCommand } from "./sign/command.ts";
import { verifyCommand } from "./verify/command.ts";
import type { CliContext } from "./program/context.ts";
import { helpText } from "./program/help.ts";

const TEXT: ApplicationText = {
  ...text_en,
  headers: { ...text_en.headers, flags: "OPTIONS" },
  briefs: {
    ...text_en.briefs,
    help: "Print this help",
    version: "Print the version",
    argumentEscapeSequence: "Everything after it is an argument",
  },
  noCommandRegisteredForInput: ({ input, corrections }) => {
    const nearest = corrections.length > 0 ? ` Did you mean ${corrections.join(" or ")}?` : "";
    // Anything else may be a key URI with a PIN, whose command was left out.
    const shown = /^[\w-]{1,32}$/.test(input)
      ? `There is no command ${JSON.stringify(input)}.`
      : "Begin with a command.";
    return `${shown}${nearest} See signpost --help.`;
  },
  exceptionWhileParsingArguments(error, ansiColor) {
    if (!(error instanceof UnexpectedPositionalError)) {
      return text_en.exceptionWhileParsingArguments.call(this, error, ansiColor);
    }
    // Without the argument: after a space in a key URI, it may be a PIN.
    return `Too many arguments, expected ${error.expectedCount}. Put a key URI into quotes`;
  },
};

/** The command line of `signpost`. A command's code is loaded when it runs. */
export function createApp(version: string): Application<CliContext> {
  const root = buildRouteMap<string, CliContext>({
    routes: {
      doctor: doctorCommand,
      check: checkCommand,
      jwks: jwksCommand,
      rotate: rotateCommands,
      serve: serveCommand,
      kubernetes: kubernetesCommand,
      keygen: keygenCommand,
      kid: kidCommand,
      csr: csrCommand,
      cert: certCommands,
      verify: verifyCommand,
      sign: signCommand,
      bench: benchCommand,
      complete: completeCommand,
    },
    docs: {
      brief: "Check, publish and use the signing keys of an OpenID Provider",
      fullDescription: helpText({
        description: "Check, publish and use the signing keys of an OpenID Provider, wherever they are held.",
        examples: [
          ["signpost doctor", "examines the keys of the configuration in this folder"],
          ["signpost check https://op.example", "checks the key set of an OpenID Provider"],
          ["signpost rotate plan", "shows when each key signs"],
          ["signpost kid awskms:///alias/op-2026", "prints the kid of a key"],
          ["signpost verify https://op.example < token.txt", "says which rule a token breaks"],
        ],
        exitCodes: { 1: "the command found something wrong" },
      }),
    },
  });
  return buildApplication(root, {
    name: "signpost",
    versionInfo: { currentVersion: version },
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
    documentation: { caseStyle: "convert-camel-to-kebab", useAliasInUsageLine: false, onlyRequiredInUsageLine: true },
    localization: { text: TEXT },
  });
}
