import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** What a `KeyId` of the KMS API names, judged only by its form. */
export type KeyName =
  | { readonly kind: "key-arn" | "alias-arn"; readonly region: string }
  | { readonly kind: "key-id" | "alias" };

// https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id
// The id of a Multi-Region key begins with mrk-. Any other id is a UUID. Aliases may contain slashes. Case matters everywhere.
const ARN = /^arn:aws[a-z-]*:kms:([a-z0-9-]+):[0-9]{12}:(key\/[A-Za-z0-9-]+|alias\/[A-Za-z0-9/_-]+)$/;
const KEY_ID = /^[A-Za-z0-9-]+$/;
const ALIAS = /^alias\/[A-Za-z0-9/_-]+$/;

/** Reads a key id, key ARN, alias name or alias ARN. It is sent unchanged. */
export function parseKeyName(argument: string, key: unknown): KeyName {
  const text = typeof key === "string" ? key : "";
  const [, region, resource] = ARN.exec(text) ?? [];
  if (region !== undefined && resource !== undefined) {
    return { kind: resource.startsWith("key/") ? "key-arn" : "alias-arn", region };
  }
  if (ALIAS.test(text)) return { kind: "alias" };
  if (KEY_ID.test(text)) return { kind: "key-id" };
  throw new ConfigurationError(argument, `expected a KMS key id, key ARN, alias/NAME or alias ARN, got ${given(key)}`);
}

/** The Region in a key ARN or alias ARN. */
export function regionIn(name: KeyName): string | undefined {
  return "region" in name ? name.region : undefined;
}

/** Whether this is the ARN of a key, not of an alias. */
export function isKeyArn(arn: string): boolean {
  return ARN.exec(arn)?.[2]?.startsWith("key/") === true;
}

/** Whether `arn` can be the key ARN of `key`. Only KMS knows the key of an alias. */
export function isKeyArnFor(arn: string, key: string): boolean {
  const [, , resource = ""] = ARN.exec(arn) ?? [];
  if (!isKeyArn(arn)) return false;
  switch (parseKeyName("key", key).kind) {
    case "key-arn":
      return arn === key;
    case "key-id":
      return resource === `key/${key}`;
    case "alias-arn":
      // An alias and its key are in one account and Region.
      return arn.startsWith(key.slice(0, key.indexOf(":alias/") + 1));
    case "alias":
      return true;
  }
}

const MULTI_REGION_OR_UUID = /^(?:mrk-[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** Whether this cannot be a key id of KMS, so the caller probably meant an alias. */
export function looksLikeAlias(key: string): boolean {
  return KEY_ID.test(key) && !MULTI_REGION_OR_UUID.test(key);
}
