import { expect, test } from "vitest";
import { isTlsCode } from "@signpost/core/adapter";

test.each([
  "CERT_HAS_EXPIRED",
  "CERT_REVOKED",
  "CRL_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERROR_IN_CERT_NOT_AFTER_FIELD",
  "ERROR_IN_CRL_NEXT_UPDATE_FIELD",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY",
  "UNABLE_TO_GET_CRL",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNSPECIFIED",
])("%s is a code of TLS", (code) => {
  expect(isTlsCode(code)).toBe(true);
});

test.each([
  "ECONNRESET",
  "ERR_INVALID_CHAR",
  "ERR_OSSL_UNSUPPORTED",
  "HPE_INVALID_CONSTANT",
  "INVALID_ARGUMENT",
  "",
  undefined,
  14,
  ["CERT_HAS_EXPIRED"],
])("%s is not", (code) => {
  expect(isTlsCode(code)).toBe(false);
});
