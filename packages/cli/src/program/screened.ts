/** What is a secret by its form, wherever a person has put it: a JWT, a private key in PEM, the private member of a JWK. */
const FORMS: readonly (readonly [form: RegExp, shown: string])[] = [
  [/\bey[\w-]{6,}\.[\w.-]*/g, "(a token)"],
  [/-----BEGIN[A-Z -]*PRIVATE KEY-----[^]*?(?:-----END[A-Z -]*-----|$)/g, "(a private key)"],
  [/(\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*")[\w+/=-]*/g, "$1(a private key)"],
];

/** A message without what must not be in one. */
export function screened(text: string): string {
  return FORMS.reduce((shown, [form, word]) => shown.replaceAll(form, word), text);
}
