import { ConfigurationError } from "@signpost/core";

/** The attributes that hold a PIN or lead to one, in any case, and with the slips that keep their sense. */
const PIN_ATTRIBUTE = /pin[-_ ]?(?:value|source)\s*=/i;
/** Separators that were meant, and what stands behind a slip of the name of an attribute. */
const SEPARATOR = /[=?&;,|]|pin[-_ ]?(?:value|source)/i;

/**
 * Refuses a value that swallowed `pin-value=` or `pin-source=`, as one does behind a wrong separator: the PIN would
 * become part of a label or a path, and so of messages. An equals sign that is encoded says that it is meant.
 *
 * @throws ConfigurationError that repeats nothing of the value.
 */
export function refuseMisplacedPin(name: string, encoded: string): void {
  // Everything but the equals sign is decoded, since escapes may hide the name.
  const text = encoded.replaceAll(/%(?!3D)[0-9A-F]{2}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  );
  if (!PIN_ATTRIBUTE.test(text)) return;
  throw new ConfigurationError(
    "uri",
    `${name}: holds a pin-value= or pin-source=. Expected "?" once before the first attribute of the query, and "&" ` +
      `between them; a value that really holds this text has its "=" as %3D`,
  );
}

/** A value for a message, quoted or in another form, unless a PIN may have got into it by a wrong separator. */
export function shown(value: string, form: string = JSON.stringify(value)): string {
  return mayHoldPin(value) ? "(not shown: with its separators it may hold a PIN)" : form;
}

/** Whether a value has what stands between attributes: something that was not meant may be in it. */
export function mayHoldPin(value: string): boolean {
  return SEPARATOR.test(value);
}
