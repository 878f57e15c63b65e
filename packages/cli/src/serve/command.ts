import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asNumber, asText, CONFIG_FLAG, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost serve`. Times are in seconds. */
export interface ServeFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly adminHost?: string | undefined;
  readonly adminPort?: number | undefined;
  readonly cors?: boolean | undefined;
  readonly matchWeakEtags?: boolean | undefined;
  readonly maxConnections?: number | undefined;
  readonly shutdownDelay?: number | undefined;
  readonly shutdownTimeout?: number | undefined;
}

const FLAG = { kind: "boolean", optional: true, withNegated: false } as const;
const TEXT = { kind: "parsed", parse: asText, optional: true } as const;
const NUMBER = { kind: "parsed", parse: asNumber, optional: true } as const;

export const serveCommand: Command<CliContext> = buildCommand<ServeFlags, [], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runServe),
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      host: { ...TEXT, brief: "Address for the key set. Default 127.0.0.1, this machine only" },
      port: { ...NUMBER, brief: "Port for the key set, 0 for a free one. Default 8080" },
      adminHost: {
        ...TEXT,
        brief: "Address for health, metrics and the status page. Default 127.0.0.1",
      },
      adminPort: {
        ...NUMBER,
        brief: "Port for health, metrics and the status page, 0 for a free one. Default 8081",
      },
      cors: { ...FLAG, brief: "Let browsers of any origin read the key set" },
      matchWeakEtags: { ...FLAG, brief: "Answer 304 also to the ETags of a proxy that compresses" },
      maxConnections: {
        ...NUMBER,
        brief: "Connections for the key set. Default: up to 16000, by the limit of open files",
      },
      shutdownDelay: {
        ...NUMBER,
        brief: "After SIGTERM, serve for this long while /readyz says 503. Default 0",
      },
      shutdownTimeout: {
        ...NUMBER,
        brief: "Then finish requests for at most this long. Default 10",
      },
      json: { ...JSON_FLAG, brief: "Print the addresses as a line of JSON, and log in JSON" },
    },
  },
  docs: {
    brief: "Serve the key set of the configuration over HTTP",
    fullDescription: helpText({
      description: [
        "Serves the JWK Set at the path of the configuration, and the members of the discovery document that follow from it",
        "at the same path with /discovery. Everything else on this port is 404. A second port has /livez, /readyz, /metrics",
        "for Prometheus, and a status page for people at /.",
        "",
        "The keys are opened once, for their public halves, and closed again. They sign nothing. A key may also be a",
        "publicKey in the configuration, even the first one: then the server needs no credentials.",
        "",
        "A schedule changes the set by itself. The configuration is loaded again when its file changes, and on SIGHUP, which",
        "also reads each key again. If that fails, the server goes on with what it has, and says so in the log, the",
        "metrics and the status page. If a backend is away at the start, /readyz says 503 until the keys are read.",
        "",
        "SIGTERM or Ctrl-C ends it: /readyz says 503, then nothing new is accepted, then the requests finish. A second one",
        "ends it at once. Use TLS in front of it: it speaks plain HTTP.",
      ].join("\n"),
      examples: [
        ["signpost serve", "serves the configuration in this folder on port 8080 of this machine"],
        ["signpost serve --host 0.0.0.0 --admin-host 0.0.0.0 --shutdown-delay 10 --json", "runs in a container"],
        ["signpost serve --port 0 --admin-port 0 --json", "takes free ports, and prints them as JSON"],
        ["kill -HUP PID", "loads the configuration and reads each key again"],
        ["curl -s http://127.0.0.1:8081/metrics", "prints the metrics"],
      ],
      exitCodes: {
        2: "the command line or the configuration is wrong, or a port cannot be used",
        3: "a key cannot be opened, and will not by itself",
        143: "SIGTERM ended it, after its requests were done (130: Ctrl-C)",
      },
    }),
  },
});
