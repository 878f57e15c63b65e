/** What is a secret by its form, wherever a person has put it: a JWT, a private key in PEM, a PIN of a key URI, the private member of a JWK. */
const FORMS: readonly (readonly [form: RegExp, shown: string])[] = [
  [/\bey[\w-]{6,}\.[\w.-]*/g, "(a token)"],
  [/-----BEGIN[A-Z -]*PRIVATE KEY-----[^]*?(?:-----END[A-Z -]*-----|$)/g, "(a private key)"],
  [/(pin(?:[-_ ]|%2d)?value(?:=|%3d))(?!\.(?:\s|$))[^&\s"'<>]+/gi, "$1(a PIN)"],
  [/(\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*")[\w+/=-]*/g, "$1(a private key)"],
];

/** A message without what must not be in one. */
export function screened(text: string): string {
  return FORMS.reduce((shown, [form, word]) => shown.replaceAll(form, word), text);
}
