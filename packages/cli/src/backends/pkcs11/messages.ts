import type { TokenUri } from "./uri.ts";

/** What the parent asks of the child, which loads the module. */
export type ModuleRequest = {
  /** Path of the compiled binding, `pkcs11js`. */
  readonly binding: string;
  readonly module: string;
  /** The option `libraryParameters` of the adapter. */
  readonly parameters?: string | undefined;
  readonly uri: TokenUri;
} & (
  | { readonly task: "token" }
  | { readonly task: "attributes"; readonly pin: string }
  /** `label` and `id` in hexadecimal. */
  | { readonly task: "generate"; readonly pin: string; readonly label: string; readonly id: string }
);

/** What the token says of its PIN, without a login. */
export interface TokenState {
  readonly label: string;
  readonly model: string;
  /** The flag says so, or the key does not show without a login. */
  readonly loginRequired: boolean;
  readonly pinCountLow: boolean;
  readonly pinFinalTry: boolean;
  readonly pinLocked: boolean;
  readonly pinToBeChanged: boolean;
}

/** Attributes of a private key. Undefined: the token does not tell. */
export type KeyAttributes = Readonly<Record<KeyAttribute, boolean | undefined>>;

export const KEY_ATTRIBUTES = [
  "CKA_SENSITIVE",
  "CKA_ALWAYS_SENSITIVE",
  "CKA_EXTRACTABLE",
  "CKA_NEVER_EXTRACTABLE",
  "CKA_SIGN",
  "CKA_DECRYPT",
  "CKA_UNWRAP",
  "CKA_DERIVE",
  "CKA_MODIFIABLE",
  "CKA_LOCAL",
  "CKA_ALWAYS_AUTHENTICATE",
] as const;

export type KeyAttribute = (typeof KEY_ATTRIBUTES)[number];

export type ModuleAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };
