import { createPublicKey, type KeyObject } from "node:crypto";
import {
  type Attribute,
  CKA,
  CKF_RW_SERIAL_SESSION,
  CKM_EC_KEY_PAIR_GEN,
  CKO,
  CKU_USER,
  findObjects,
  type Handle,
  initializeModule,
  loadModule,
  P256_PARAMETERS,
  type Pkcs11Binding,
  slotOf,
} from "./pkcs11-binding.ts";

export interface KeygenOptions {
  /** Path of the module. It must not be in use in this process, because it is initialized and finalized here. */
  readonly module: string;
  readonly libraryParameters?: string | undefined;
  /** Label of the token. */
  readonly token: string;
  readonly pin: string;
  /** CKA_LABEL of both halves, as text or bytes. No private or public key on the token may already have it. */
  readonly label: string | Uint8Array;
  /** CKA_ID of both halves. The same rule applies. */
  readonly id: Uint8Array;
  /** `false` makes a key that may not sign (CKA_SIGN), which Signpost must refuse. */
  readonly sign?: boolean | undefined;
  /** `false` makes a private half that is visible without a login (CKA_PRIVATE). */
  readonly hidden?: boolean | undefined;
  /** `true` makes a public half that is not. */
  readonly publicHidden?: boolean | undefined;
}

const CKF_LOGIN_REQUIRED = 4;
const CKK_EC = 3;
/** SubjectPublicKeyInfo of a P-256 key up to its point (RFC 5480 section 2). */
const SPKI_PREFIX = Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex");

/**
 * Generates a P-256 key pair on a token. The private half is sensitive, not extractable, and only for signing. A label or
 * an id that another key has is refused, because two keys of one name cannot be told apart.
 */
export function generateP256Key(options: KeygenOptions): KeyObject {
  const binding = loadModule(options.module);
  initializeModule(binding, options.libraryParameters);
  try {
    const session = openSession(binding, options);
    refuseExisting(binding, session, options);
    const name = [
      { type: CKA.TOKEN, value: true },
      { type: CKA.KEY_TYPE, value: CKK_EC },
      { type: CKA.LABEL, value: Buffer.from(options.label) },
      { type: CKA.ID, value: Buffer.from(options.id) },
    ];
    const { publicKey } = binding.C_GenerateKeyPair(
      session,
      { mechanism: CKM_EC_KEY_PAIR_GEN },
      [
        { type: CKA.CLASS, value: CKO.public },
        ...name,
        { type: CKA.PRIVATE, value: options.publicHidden ?? false },
        { type: CKA.VERIFY, value: true },
        { type: CKA.EC_PARAMS, value: P256_PARAMETERS },
      ],
      [
        { type: CKA.CLASS, value: CKO.private },
        ...name,
        { type: CKA.PRIVATE, value: options.hidden ?? true },
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

function openSession(binding: Pkcs11Binding, { token, pin }: KeygenOptions): Handle {
  const slot = slotOf(binding, token);
  const session = binding.C_OpenSession(slot, CKF_RW_SERIAL_SESSION);
  if ((binding.C_GetTokenInfo(slot).flags & CKF_LOGIN_REQUIRED) !== 0) binding.C_Login(session, CKU_USER, pin);
  return session;
}

function refuseExisting(binding: Pkcs11Binding, session: Handle, { label, id }: KeygenOptions): void {
  const names: [string, Attribute][] = [
    ["label", { type: CKA.LABEL, value: Buffer.from(label) }],
    ["id", { type: CKA.ID, value: Buffer.from(id) }],
  ];
  for (const [what, attribute] of names) {
    for (const objectClass of Object.values(CKO)) {
      const found = findObjects(binding, session, [{ type: CKA.CLASS, value: objectClass }, attribute], 1);
      if (found.length > 0) throw new Error(`the token already has a key with this ${what}`);
    }
  }
}
