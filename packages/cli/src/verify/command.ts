import { buildChoiceParser, buildCommand, type Command } from "@stricli/core";
import { JWT_ALGORITHM_NAMES, type JwtAlgorithmName } from "./algorithms.ts";
import type { CliContext } from "../program/context.ts";
import { asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost verify`. */
export interface VerifyFlags extends CommonFlags {
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  readonly type?: TokenType | undefined;
  readonly nonce?: string | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly alg?: readonly JwtAlgorithmName[] | undefined;
}

/** The kinds of token that the command knows all rules of. */
export type TokenType = "id_token" | "access_token";

export const verifyCommand: Command<CliContext> = buildCommand<VerifyFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runVerify),
  parameters: {
    flags: {
      issuer: {
        kind: "parsed",
        brief: "Issuer of the token. The source is then a key set",
        parse: asText,
        optional: true,
      },
      audience: {
        kind: "parsed",
        brief: "Audience that the token must be for. Default: any",
        parse: asText,
        optional: true,
      },
      type: {
        kind: "enum",
        brief: "Kind of token. Default: what its typ says",
        values: ["id_token", "access_token"],
        optional: true,
      },
      nonce: {
        kind: "parsed",
        brief: "Nonce of the ID token. Default: any",
        parse: asText,
        optional: true,
      },
      scope: {
        kind: "parsed",
        brief: "Scope that the access token must grant. May be repeated",
        parse: asText,
        optional: true,
        variadic: true,
      },
      alg: {
        kind: "parsed",
        brief: "Accepted algorithm, such as RS256. May be repeated. Default: ES256",
        parse: buildChoiceParser(JWT_ALGORITHM_NAMES),
        proposeCompletions: (partial) => JWT_ALGORITHM_NAMES.filter((name) => name.startsWith(partial)),
        optional: true,
        variadic: true,
      },
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "Issuer, URL of a key set, or file with a key set", placeholder: "source", parse: asText }],
    },
  },
  docs: {
    brief: "Verify a token from stdin, and say which rule it breaks",
    fullDescription: helpText({
      description: [
        "Reads an ID token (OpenID Connect Core 1.0 section 3.1.3.7) or a JWT access token (RFC 9068) from stdin, and checks",
        "each rule as a relying party does. The source is the issuer, whose discovery document names the key set. With",
        "--issuer, it is the URL of the key set. A path is a file with a key set or a JWK.",
        "",
        "No configuration is read. The token is not printed, except with --json, which prints its claims if it is valid.",
      ].join("\n"),
      examples: [
        [
          "signpost verify https://op.example --audience client-1 < token.txt",
          "checks a token with the keys of its issuer",
        ],
        ["signpost verify https://op.example/jwks --issuer https://op.example < token.txt", "uses this key set"],
        ["signpost verify jwks.json --alg RS256 < token.txt", "uses the keys in a file, and accepts RS256"],
      ],
      exitCodes: { 1: "the token breaks a rule", 3: "the keys could not be fetched" },
    }),
  },
});
