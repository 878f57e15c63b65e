import { ConfigurationError } from "../errors.ts";
import type { CertificateValidity, KeyCertificates } from "./read-certificates.ts";

/**
 * The certificate of the path that expires first.
 *
 * @example
 * ```ts
 * import { firstToExpire } from "@signpost/core/adapter";
 * import type { KeyCertificates } from "@signpost/core";
 *
 * export const endOf = (certificates: KeyCertificates): Date => new Date(firstToExpire(certificates).notAfter);
 * ```
 */
export function firstToExpire({ validity }: Pick<KeyCertificates, "validity">): CertificateValidity {
  return validity.reduce((first, next) => (next.notAfter < first.notAfter ? next : first));
}

/**
 * Why a path is not valid at a time, in milliseconds since 1970: the first certificate that has expired or is not valid yet.
 * Undefined if it is valid.
 *
 * @example
 * ```ts
 * import { certificateFault } from "@signpost/core/adapter";
 * import type { KeyCertificates } from "@signpost/core";
 *
 * export const isValidNow = (certificates: KeyCertificates): boolean =>
 *   certificateFault(certificates, Date.now()) === undefined;
 * ```
 */
export function certificateFault({ validity }: Pick<KeyCertificates, "validity">, time: number): string | undefined {
  const faulty = validity.find(({ notBefore, notAfter }) => time < notBefore || time > notAfter);
  if (faulty === undefined) return undefined;
  const { name, notBefore, notAfter } = faulty;
  return time < notBefore
    ? `${name} is not valid before ${new Date(notBefore).toISOString()}`
    : `${name} expired at ${new Date(notAfter).toISOString()}`;
}

/** A key with certificates, and the name of its entry in messages. */
export interface CertifiedEntry {
  readonly argument: string;
  readonly keyId: string;
  readonly certificates?: KeyCertificates | undefined;
}

/**
 * Refuses certificates that are not valid at a time.
 *
 * @throws ConfigurationError `invalid_certificate`.
 */
export function requireValid({ argument, keyId, certificates }: CertifiedEntry, time: number): void {
  const fault = certificates === undefined ? undefined : certificateFault(certificates, time);
  if (fault === undefined) return;
  const when = new Date(time).toISOString();
  const problem = `kid ${JSON.stringify(keyId)}: expected a chain that is valid at ${when}, but ${fault}`;
  throw new ConfigurationError(`${argument}.certificates`, problem, { code: "invalid_certificate" });
}
