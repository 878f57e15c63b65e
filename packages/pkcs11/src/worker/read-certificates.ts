import { codeFrom, cryptoki, CryptokiError } from "../cryptoki/call.ts";
import {
  CKA_CERTIFICATE_TYPE,
  CKA_VALUE,
  CKC_X_509,
  CKF_SERIAL_SESSION,
  CKO_CERTIFICATE,
  CKO_PRIVATE_KEY,
  CKO_PUBLIC_KEY,
  CKR_TOKEN_NOT_PRESENT,
} from "../cryptoki/constants.ts";
import type { CertificateObject, NamedObject, TokenCertificates } from "../cryptoki/descriptions.ts";
import {
  classTemplate,
  type CryptokiSession,
  findObjects,
  findOptional,
  readId,
  readLabel,
  readOptional,
} from "../cryptoki/objects.ts";
import type { TokenInSlot } from "../wire/commands.ts";
import { readToken, trimPadding } from "./token-list.ts";
import type { WorkerModule } from "./worker-module.ts";

/** Far more than one token of an OpenID Provider holds. */
const MOST_OBJECTS = 256;

/** Reads the certificates of a token in a new session. */
export function readCertificates(module: WorkerModule, token: TokenInSlot): TokenCertificates {
  const { binding } = module;
  const slot = module.slot(token.slotId);
  const handle = cryptoki("C_OpenSession", () => binding.C_OpenSession(slot, CKF_SERIAL_SESSION));
  try {
    const { label, serialNumber } = readToken(binding, slot);
    if (trimPadding(label) !== token.label || trimPadding(serialNumber) !== token.serial) {
      throw new CryptokiError("C_GetTokenInfo", CKR_TOKEN_NOT_PRESENT);
    }
    return describeCertificates({ binding, handle });
  } finally {
    codeFrom(() => binding.C_CloseSession(handle));
  }
}

function describeCertificates(session: CryptokiSession): TokenCertificates {
  const template = [...classTemplate(CKO_CERTIFICATE), { type: CKA_CERTIFICATE_TYPE, value: CKC_X_509 }];
  const keys = [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].flatMap((each) =>
    findOptional(session, classTemplate(each), MOST_OBJECTS),
  );
  const named = (object: Parameters<typeof readId>[1]): NamedObject => ({
    label: readLabel(session, object),
    id: readId(session, object),
  });
  return {
    certificates: findObjects(session, template, MOST_OBJECTS).flatMap((object): readonly CertificateObject[] => {
      // One that is somewhere else, and has a CKA_URL instead.
      const value = readOptional(session, object, CKA_VALUE);
      return value === undefined ? [] : [{ ...named(object), value: new Uint8Array(value) }];
    }),
    keys: keys.map(named),
  };
}
