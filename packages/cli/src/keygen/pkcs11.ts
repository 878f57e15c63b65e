import { randomBytes } from "node:crypto";
import { findModule, runInModule } from "../backends/pkcs11/module.ts";
import { CliError } from "../program/cli-error.ts";
import { exists, LOOK_FIRST, opensKey, refuse, requireNames, type KeyOrder, type MakeKey } from "./maker.ts";

/** Long enough that no two keys of a token get the same one. */
const ID_BYTES = 8;

/** A key pair in a token: the private key signs only, is sensitive and not extractable. */
export const makeTokenKey: MakeKey = async (order) => {
  const { uri, options, context } = order;
  // Wherever it is: the URI is printed when the key is made.
  if (/pin-value/i.test(uri))
    throw refuse("A PIN in a URI ends up in logs", "Use pin-source=file:PATH instead of pin-value");
  requireKnownNames(uri);
  const place = await findModule(uri, options, context);
  if (place === undefined) {
    // The adapter says so if the module is not allowed.
    if (options["allowedModules"] !== undefined) await opensKey(order.open, uri);
    throw refuse(
      "The PKCS#11 module or its binding was not found",
      "Add module-path= to the URI, and npm install @signpost/pkcs11 pkcs11js",
    );
  }
  const { object, token, serial, slotId } = place.uri;
  if (object === undefined || object === "") throw refuse("The URI names no label", "Add object=NAME to the URI");
  if (token === undefined && serial === undefined && slotId === undefined) {
    throw refuse("The URI names no token", "Add token=LABEL to the URI");
  }
  if (await opensKey(order.open, uri)) throw taken();
  const pin = await order.pin();
  if (pin === undefined) throw refuse("There is no PIN", "Add pin-source=file:PATH or pin-source=env:NAME to the URI");
  const id = place.uri.id ?? randomBytes(ID_BYTES).toString("hex");
  order.leaves(`A key pair with the id ${id} may have been made in the token`);
  await runInModule(place, { task: "generate", pin, label: object, id }, context).catch(async (error: unknown) => {
    throw error instanceof CliError ? await notMade(error, order) : error;
  });
  return place.uri.id === undefined ? withId(uri, id) : uri;
};

async function notMade(error: CliError, { open, uri }: KeyOrder): Promise<unknown> {
  if (error.code === "key_exists") return taken();
  if (error.code === "token_not_found") {
    // The adapter says which tokens there are, and where a module takes its configuration from.
    return opensKey(open, uri, []).then(
      () => error,
      (reason: unknown) => reason,
    );
  }
  if (error.code === "module_failed") return refusedByModule(error);
  if (error.code !== "module_ended") return error;
  return new CliError(error.exitCode, error.code, error.message, { cause: error, hint: LOOK_FIRST });
}

/** What the module says is a name, such as CKR_GENERAL_ERROR. */
function refusedByModule(error: CliError): CliError {
  const hint =
    error.message === "CKR_PIN_INCORRECT"
      ? "Correct the PIN where it is kept, because one more wrong PIN may lock the token"
      : "Some modules refuse a key that only signs and cannot leave the token: make the key with the tool of the module";
  return new CliError(error.exitCode, error.code, `the PKCS#11 module made no key: ${error.message}`, { hint });
}

function taken(): CliError {
  return exists("A key with this label or id", "Name another object");
}

/** Those of RFC 7512 that select a token and name a key in it. */
const ATTRIBUTES = ["token", "serial", "manufacturer", "model", "slot-id", "object", "id", "type"];
const QUERY = ["module-path", "module-name", "pin-source"];

function requireKnownNames(uri: string): void {
  // A value of the query may have a "?" too.
  const [path = "", ...query] = uri.slice(uri.indexOf(":") + 1).split("?");
  const namesOf = (text: string, separator: string): readonly string[] =>
    text === "" ? [] : text.split(separator).map((member) => member.split("=")[0] ?? "");
  requireNames("path", namesOf(path, ";"), ATTRIBUTES);
  requireNames("query", namesOf(query.join("?"), "&"), QUERY);
}

/** The id distinguishes keys with one label, and survives a change of the label. */
function withId(uri: string, id: string): string {
  const [path = "", ...query] = uri.split("?");
  const escaped = id.replaceAll(/../g, "%$&");
  return [`${path};id=${escaped}`, ...query].join("?");
}
