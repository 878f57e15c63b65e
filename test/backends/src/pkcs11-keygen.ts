import { createPublicKey, type KeyObject } from "node:crypto";
import { createRequire } from "node:module";

export interface KeygenOptions {
  /** Path of the module. It must not be in use in this process: it is initialised and finalised here. */
  readonly module: string;
  readonly libraryParameters?: string | undefined;
  /** Label of the token. */
  readonly token: string;
  readonly pin: string;
  /** CKA_LABEL of both halves. No private or public key on the token may have it already. */
  readonly label: string;
  /** CKA_ID of both halves, likewise. */
  readonly id: Uint8Array;
  /** `false` makes a key that may not sign (CKA_SIGN), which Signpost must refuse. */
  readonly sign?: boolean | undefined;
}

type Handle = Buffer;
interface Attribute {
  readonly type: number;
  readonly value?: Buffer | number | boolean;
}
interface Binding {
  load(path: string): void;
  C_Initialize(args: { flags: number; libraryParameters?: string }): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { label: string; flags: number };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_Login(session: Handle, userType: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle, most: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GenerateKeyPair(
    session: Handle,
    mechanism: { mechanism: number },
    publicTemplate: readonly Attribute[],
    privateTemplate: readonly Attribute[],
  ): { publicKey: Handle };
  C_GetAttributeValue(session: Handle, object: Handle, template: readonly Attribute[]): { value: Buffer }[];
}

const CKF_OS_LOCKING_OK = 2;
const CKF_RW_SERIAL_SESSION = 2 | 4;
const CKF_LOGIN_REQUIRED = 4;
const CKU_USER = 1;
const CKM_EC_KEY_PAIR_GEN = 0x1040;
const CKK_EC = 3;
const CKO = { public: 2, private: 3 } as const;
const CKA = {
  CLASS: 0x0,
  TOKEN: 0x1,
  PRIVATE: 0x2,
  LABEL: 0x3,
  KEY_TYPE: 0x100,
  ID: 0x102,
  SENSITIVE: 0x103,
  SIGN: 0x108,
  VERIFY: 0x10a,
  EXTRACTABLE: 0x162,
  EC_PARAMS: 0x180,
  EC_POINT: 0x181,
} as const;
const P256_PARAMETERS = Buffer.from("06082a8648ce3d030107", "hex");
/** SubjectPublicKeyInfo of a P-256 key up to its point (RFC 5480 section 2). */
const SPKI_PREFIX = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");

/**
 * Generates a P-256 key pair on a token: the private half sensitive and not extractable, for signing alone. A label or
 * an id that a key has already is refused: two keys of one name cannot be told apart.
 */
export function generateP256Key(options: KeygenOptions): KeyObject {
  const binding = load(options);
  try {
    const session = openSession(binding, options);
    refuseExisting(binding, session, options);
    const name = [
      { type: CKA.TOKEN, value: true },
      { type: CKA.KEY_TYPE, value: CKK_EC },
      { type: CKA.LABEL, value: Buffer.from(options.label, "utf8") },
      { type: CKA.ID, value: Buffer.from(options.id) },
    ];
    const { publicKey } = binding.C_GenerateKeyPair(
      session,
      { mechanism: CKM_EC_KEY_PAIR_GEN },
      [
        { type: CKA.CLASS, value: CKO.public },
        ...name,
        { type: CKA.VERIFY, value: true },
        { type: CKA.EC_PARAMS, value: P256_PARAMETERS },
      ],
      [
        { type: CKA.CLASS, value: CKO.private },
        ...name,
        { type: CKA.PRIVATE, value: true },
        { type: CKA.SENSITIVE, value: true },
        { type: CKA.EXTRACTABLE, value: false },
        { type: CKA.SIGN, value: options.sign ?? true },
      ],
    );
    const point =
      binding.C_GetAttributeValue(session, publicKey, [{ type: CKA.EC_POINT }])[0]?.value ?? Buffer.alloc(0);
    return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, point.subarray(-65)]), format: "der", type: "spki" });
  } finally {
    binding.C_Finalize();
  }
}

function load({ module, libraryParameters }: KeygenOptions): Binding {
  const { PKCS11 } = createRequire(import.meta.url)("pkcs11js") as { PKCS11: new () => Binding };
  const binding = new PKCS11();
  binding.load(module);
  // pkcs11js loses the last character of the text.
  const parameters = libraryParameters === undefined ? {} : { libraryParameters: `${libraryParameters} ` };
  binding.C_Initialize({ flags: CKF_OS_LOCKING_OK, ...parameters });
  return binding;
}

function openSession(binding: Binding, { token, pin }: KeygenOptions): Handle {
  const slot = binding
    .C_GetSlotList(true)
    .find((candidate) => binding.C_GetTokenInfo(candidate).label.replace(/[\0 ]+$/, "") === token);
  if (slot === undefined) throw new Error(`no token ${JSON.stringify(token)}`);
  const session = binding.C_OpenSession(slot, CKF_RW_SERIAL_SESSION);
  if ((binding.C_GetTokenInfo(slot).flags & CKF_LOGIN_REQUIRED) !== 0) binding.C_Login(session, CKU_USER, pin);
  return session;
}

function refuseExisting(binding: Binding, session: Handle, { label, id }: KeygenOptions): void {
  const names: [string, Attribute][] = [
    ["label", { type: CKA.LABEL, value: Buffer.from(label, "utf8") }],
    ["id", { type: CKA.ID, value: Buffer.from(id) }],
  ];
  for (const [what, attribute] of names) {
    for (const objectClass of Object.values(CKO)) {
      binding.C_FindObjectsInit(session, [{ type: CKA.CLASS, value: objectClass }, attribute]);
      const found = binding.C_FindObjects(session, 1);
      binding.C_FindObjectsFinal(session);
      if (found.length > 0) throw new Error(`the token has a key with this ${what} already`);
    }
  }
}
