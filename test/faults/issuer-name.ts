/** The `iss` of every token. */
export const ISSUER = "https://op.example";
