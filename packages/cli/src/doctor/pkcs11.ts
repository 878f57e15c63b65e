import { findModule, placeOfOpened, runInModule } from "../backends/pkcs11/module.ts";
import type { KeyAttributes, TokenState } from "../backends/pkcs11/messages.ts";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** A key in a PKCS#11 token: the state of its PIN before any login, and the attributes of the private key. */
export const PKCS11: BackendChecks = {
  before: async ({ uri, options, context }) => {
    const place = await findModule(uri, options, context);
    if (place === undefined) return [];
    return tokenFindings(await runInModule<TokenState>(place, { task: "token" }, context));
  },
  examine: async ({ uri, options, context, pin: readPin }, opened) => {
    const place = await findModule(uri, options, context);
    const pin = await readPin();
    if (place === undefined || pin === undefined)
      return [note("key", "attributes not examined: this needs the module and the PIN")];
    const task = { task: "attributes", pin } as const;
    return attributeFindings(await runInModule<KeyAttributes>(placeOfOpened(place, opened.uri), task, context));
  },
};

/** Findings from the flags of a token. No login was tried for them. */
export function tokenFindings(state: TokenState): readonly Finding[] {
  const so = "Ask the token's security officer to set a new PIN";
  if (state.pinLocked) return [problem("token", "the PIN is locked", so)];
  if (state.pinFinalTry) {
    return [
      problem(
        "token",
        "one wrong PIN from now locks the token, so no login was tried",
        `Log in once by hand with the right PIN. ${so} if you do not know it`,
      ),
    ];
  }
  return [
    state.pinCountLow
      ? warning(
          "token",
          "a wrong PIN was given since the last login",
          "Find out which program has the wrong PIN, before it locks the token",
        )
      : ok("token", "no wrong PIN since the last login"),
    ...(state.pinToBeChanged
      ? [warning("token", "the PIN must be changed", "Set a new PIN, and update where it is kept")]
      : []),
    ...(state.loginRequired
      ? []
      : [warning("token", "the token needs no login", "Set a user PIN: without one, every program can sign")]),
  ];
}

/** Findings from the attributes of a private key. */
export function attributeFindings(key: KeyAttributes): readonly Finding[] {
  const create = "Create a new key: signpost keygen makes it sign-only, sensitive and not extractable";
  const others = (["CKA_DECRYPT", "CKA_UNWRAP", "CKA_DERIVE"] as const).filter((name) => key[name] === true);
  const findings: Finding[] = [];
  if (key.CKA_EXTRACTABLE === true)
    findings.push(problem("key", "extractable: its private half can leave the token", create));
  else if (key.CKA_SENSITIVE === false)
    findings.push(problem("key", "not sensitive: its private half can be read", create));
  else if (key.CKA_NEVER_EXTRACTABLE === false || key.CKA_ALWAYS_SENSITIVE === false) {
    findings.push(warning("key", "not extractable now, but it was, or it was readable", create));
  } else findings.push(ok("key", "sensitive and not extractable"));
  if (key.CKA_LOCAL === false) {
    findings.push(warning("key", "made outside of the token and imported, so a copy may exist", create));
  }
  findings.push(
    others.length === 0
      ? ok("key", "signs only")
      : warning("key", `may be used for more than signatures: ${others.join(", ")}`, create),
  );
  if (key.CKA_ALWAYS_AUTHENTICATE === true)
    findings.push(note("key", "always-authenticate: each signature logs in again"));
  return findings;
}
