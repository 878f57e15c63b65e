import { kmsPlace, openKmsCalls, type KmsCalls } from "../backends/aws-kms.ts";
import type { CliError } from "../program/cli-error.ts";
import { exists, failed, LOOK_FIRST, NO_CLOUD_KEY, opensKey, refuse, requireNames, type MakeKey } from "./maker.ts";

const EXAMPLE = "awskms:///alias/op-2027";

/** A key in AWS KMS, with an alias if the URI names one. The entry names the ARN, since an alias can be moved. */
export const makeKmsKey: MakeKey = async ({ uri, options, context, open, leaves }) => {
  const [, host = "", parameters = ""] = /^awskms:\/\/([^/]*)\/[^?]*\??(.*)$/i.exec(uri) ?? [];
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])?(?::\d+)?$/i.test(host))
    throw refuse("The URI has a host that is not one", EXAMPLE);
  requireNames("query", [...new URLSearchParams(parameters).keys()], ["region", "scheme"]);
  const place = kmsPlace(uri, options, context.env);
  if (place.id !== "" && !/^alias\/[\w/-]+$/.test(place.id)) {
    throw refuse("AWS chooses the id of a new key", `Name an alias: signpost keygen ${EXAMPLE}`);
  }
  // A key without an alias has no name yet.
  const named = place.id === "" ? uri.replace(/^awskms:\/\/[^/]*\//i, "$&alias/signpost-keygen") : uri;
  const isTaken = (await opensKey(open, named, NO_CLOUD_KEY)) && place.id !== "";
  if (isTaken) throw aliasExists(place.id);
  const calls = await openKmsCalls(place, context);
  if (calls === undefined) throw refuse("@aws-sdk/client-kms is not installed", "npm install @aws-sdk/client-kms");
  try {
    if (place.id !== "") await requireNoAlias(calls, place.id);
    leaves(`AWS KMS may have made a key, without an alias. Its description is: ${DESCRIPTION}`);
    const arn = await createKey(calls);
    leaves(`The key ${arn} was made${place.id === "" ? "" : ", and may have no alias"}`);
    if (place.id !== "") await nameKey(calls, place.id, arn);
    const [, beforeKey = "", query = ""] = /^(awskms:\/\/[^/]*\/)[^?]*(\?.*)?/i.exec(uri) ?? [];
    // The ARN contains the Region.
    const rest = new URLSearchParams(query);
    rest.delete("region");
    return `${beforeKey}${arn}${rest.size === 0 ? "" : `?${rest.toString()}`}`;
  } finally {
    calls.close();
  }
};

async function requireNoAlias(calls: KmsCalls, alias: string): Promise<void> {
  const described = await calls.call("DescribeKey", { KeyId: alias }).catch((error: unknown) => {
    if (error instanceof Error && error.name === "NotFoundException") return undefined;
    throw failed("DescribeKey", error);
  });
  if (described !== undefined) throw aliasExists(alias);
}

function aliasExists(alias: string): CliError {
  return exists(`The alias ${alias}`, "Name another alias");
}

const DESCRIPTION = "ES256 key of an OpenID Provider (Signpost)";

async function createKey(calls: KmsCalls): Promise<string> {
  const input = {
    KeySpec: "ECC_NIST_P256",
    KeyUsage: "SIGN_VERIFY",
    Description: DESCRIPTION,
  };
  const answer = await calls.call("CreateKey", input).catch((error: unknown) => {
    const status: unknown = Reflect.get(Object(Reflect.get(Object(error), "$metadata")), "httpStatusCode");
    const isRefusal = typeof status === "number" && status < 500;
    throw failed("CreateKey", error, isRefusal ? undefined : LOOK_FIRST);
  });
  return String(Reflect.get(Object(Reflect.get(answer, "KeyMetadata")), "Arn"));
}

async function nameKey(calls: KmsCalls, alias: string, arn: string): Promise<void> {
  await calls.call("CreateAlias", { AliasName: alias, TargetKeyId: arn }).catch(async (error: unknown) => {
    const exists = error instanceof Error && error.name === "AlreadyExistsException";
    if (exists && (await targetOf(calls, alias)) === arn) return;
    throw failed(`The key ${arn} was made, and has no alias`, error);
  });
}

/** The SDK repeats a call whose answer was lost, so the alias may be ours. */
async function targetOf(calls: KmsCalls, alias: string): Promise<unknown> {
  const described = await calls.call("DescribeKey", { KeyId: alias }).catch(() => undefined);
  return Reflect.get(Object(Reflect.get(Object(described), "KeyMetadata")), "Arn");
}
