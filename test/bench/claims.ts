/** An ID token of ordinary size. `iat` is fixed, so that the signing input is always the same. */
export const CLAIMS = {
  iss: "https://op.example",
  sub: "248289761001",
  aud: "s6BhdRkqt3",
  nonce: "n-0S6_WzA2Mj",
  auth_time: 1_311_280_969,
  exp: 1_311_281_970,
  iat: 1_311_280_970,
  acr: "urn:mace:incommon:iap:silver",
};
