import { ConfigurationError } from "@signpost/core";

/** The attributes that hold a PIN or lead to one, in any case, and in common misspellings. */
const PIN_ATTRIBUTE = /pin[-_ ]?(?:value|source)\s*=/i;
/** Separators, and what follows a misspelled attribute name. No name of a token or a key has a line break, which a key in PEM has. */
const SEPARATOR = /[=?&;,|\r\n]|-----BEGIN|pin[-_ ]?(?:value|source)/i;

/**
 * Refuses a value that contains `pin-value=` or `pin-source=`, as happens after a wrong separator. The PIN would
 * become part of a label or a path, and so of messages. An encoded equals sign is taken as intended.
 *
 * @throws ConfigurationError, which does not repeat the value.
 */
export function refuseMisplacedPin(name: string, encoded: string): void {
  // All escapes but the equals sign are decoded, since they may hide the name.
  const text = encoded.replaceAll(/%(?!3D)[0-9A-F]{2}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  );
  if (!PIN_ATTRIBUTE.test(text)) return;
  throw new ConfigurationError(
    "uri",
    `${name}: contains pin-value= or pin-source=. Put one "?" before the first query attribute and "&" ` +
      `between them. If the value really contains this text, write its "=" as %3D`,
  );
}

/** A value for a message, quoted or in another form, unless a wrong separator may have put a PIN into it. */
export function shown(value: string, form: string = JSON.stringify(value)): string {
  return mayHoldPin(value) ? "(not shown: it contains a separator and may hold a PIN)" : form;
}

/** Whether a value contains a separator between attributes, and so may hold more than was intended. */
export function mayHoldPin(value: string): boolean {
  return SEPARATOR.test(value);
}
