/** The header of a verified JWT. */
export interface JwtHeader {
  /** One of the option `algorithms`. */
  readonly alg: string;
  /** The key that signed. Absent only if the key function allows it. */
  readonly kid?: string;
  /** The media type. Always present in an access token, often absent in an ID token. */
  readonly typ?: string;
  /** Any other member. It is signed, but nothing checks it. */
  readonly [member: string]: unknown;
}

/** Claims that every verified JWT has. */
export interface JwtCommonClaims {
  /** The issuer that you passed. */
  readonly iss: string;
  /** The user, unique and permanent for this issuer. */
  readonly sub: string;
  /** Who the token is for. One of them is the option `audience`. */
  readonly aud: string | readonly string[];
  /** When it expires. Seconds since 1970. */
  readonly exp: number;
  /** When it was issued. Seconds since 1970. */
  readonly iat: number;
  /** From when it is valid. Seconds since 1970. */
  readonly nbf?: number;
  /** When the user authenticated. Seconds since 1970. */
  readonly auth_time?: number;
  /** Any other claim. It is signed, but nothing checks it. */
  readonly [claim: string]: unknown;
}

/** The claims of a verified ID token (OpenID Connect Core 1.0 section 2). */
export interface IdTokenClaims extends JwtCommonClaims {
  /** The value from the authentication request. */
  readonly nonce?: string;
  /** The client that the token was issued to. */
  readonly azp?: string;
  /** Hash of the access token. Checked only with `accessToken`. */
  readonly at_hash?: string;
  /** Hash of the code. Checked only with `code`. */
  readonly c_hash?: string;
}

/** The claims of a verified access token (RFC 9068 section 2.2). */
export interface AccessTokenClaims extends JwtCommonClaims {
  /** The client that requested the token. If no user takes part, `sub` may name this client too. */
  readonly client_id: string;
  /** Unique for each token. */
  readonly jti: string;
  /** The granted scopes, separated by spaces. */
  readonly scope?: string;
}
