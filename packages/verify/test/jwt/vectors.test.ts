import { createJwtVerifier, createStaticKeySet } from "@signpost/verify";
import type { IdTokenVerifier, JwtAlgorithm } from "@signpost/verify";
import { describe, expect, it } from "vitest";

// Tokens and keys that specifications print.

/** OpenID Connect Core 1.0 appendix A.7. */
const CORE_KEY = {
  kty: "RSA",
  kid: "1e9gdk7",
  n: "w7Zdfmece8iaB0kiTY8pCtiBtzbptJmP28nSWwtdjRu0f2GFpajvWE4VhfJAjEsOcwYzay7XGN0b-X84BfC8hmCTOj2b2eHT7NsZegFPKRUQzJ9wW8ipn_aDJWMGDuB1XyqT1E7DYqjUCEOD1b4FLpy_xPn6oV_TYOfQ9fZdbE5HGxJUzekuGcOKqOQ8M7wfYHhHHLxGpQVgL0apWuP2gDDOdTtpuld4D2LK1MZK99s9gaSjRHE8JDb1Z4IGhEcEyzkxswVdPndUWzfvWBBWXWxtSUvQGBRkuy1BHOa4sP6FKjWEeeF7gm7UMs2Nm2QUgNZw6xvEDGaLk4KASdIxRQ",
  e: "AQAB",
};
const HEADER = "eyJraWQiOiIxZTlnZGs3IiwiYWxnIjoiUlMyNTYifQ";
const COMMON =
  "ewogImlzcyI6ICJodHRwOi8vc2VydmVyLmV4YW1wbGUuY29tIiwKICJzdWIiOiAiMjQ4Mjg5NzYxMDAxIiwKICJhdWQiOiAiczZCaGRSa3F0MyIsCiAibm9uY2UiOiAibi0wUzZfV3pBMk1qIiwKICJleHAiOiAxMzExMjgxOTcwLAogImlhdCI6IDEzMTEyODA5NzAsCiAi";
/** Appendix A.3, with its access token. */
const WITH_ACCESS_TOKEN = {
  token: `${HEADER}.${COMMON}YXRfaGFzaCI6ICI3N1FtVVB0alBmeld0RjJBbnBLOVJRIgp9.F9gRev0Dt2tKcrBkHy72cmRqnLdzw9FLCCSebV7mWs7o_sv2O5s6zMky2kmhHTVx9HmdvNnx9GaZ8XMYRFeYk8L5NZ7aYlA5W56nsG1iWOou_-gji0ibWIuuf4Owaho3YSoi7EvsTuLFz6tq-dLyz0dKABMDsiCmJ5wqkPUDTE3QTXjzbUmOzUDli-gCh5QPuZAq0cNW3pf_2n4zpvTYtbmj12cVcxGIMZby7TMWESRjQ9_o3jvhVNcCGcE0KAQXejhA1ocJhNEvQNqMFGlBb6_0RxxKjDZ-Oa329eGDidOvvp0h5hoES4a8IuGKS7NOcpp-aFwp0qVMDLI-Xnm-Pg`,
  options: { accessToken: "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y" },
};
/** Appendix A.4, with its code. */
const WITH_CODE = {
  token: `${HEADER}.${COMMON}Y19oYXNoIjogIkxEa3RLZG9RYWszUGswY25YeENsdEEiCn0.XW6uhdrkBgcGx6zVIrCiROpWURs-4goO1sKA4m9jhJIImiGg5muPUcNegx6sSv43c5DSn37sxCRrDZZm4ZPBKKgtYASMcE20SDgvYJdJS0cyuFw7Ijp_7WnIjcrl6B5cmoM6ylCvsLMwkoQAxVublMwH10oAxjzD6NEFsu9nipkszWhsPePf_rM4eMpkmCbTzume-fzZIi5VjdWGGEmzTg32h3jiex-r5WTHbj-u5HL7u_KP3rmbdYNzlzd1xWRYTUs4E8nOTgzAUwvwXkIQhOh5TPcSMBYy6X3E7-_gr9Ue6n4ND7hTFhtjYs3cjNKIA08qm5cpVYFMFMG6PkhzLQ`,
  options: { code: "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk" },
};

function coreVerifier(seconds: number): IdTokenVerifier {
  return createJwtVerifier({
    type: "id_token",
    issuer: "http://server.example.com",
    audience: "s6BhdRkqt3",
    keys: createStaticKeySet({ keys: [CORE_KEY] }),
    algorithms: ["RS256"],
    now: () => seconds * 1000,
  });
}

describe("OpenID Connect Core 1.0", () => {
  it.each([
    ["A.3", WITH_ACCESS_TOKEN],
    ["A.4", WITH_CODE],
  ])("appendix %s verifies with its nonce and its hash", async (_name, { token, options }) => {
    const verified = coreVerifier(1_311_281_000).verify(token, { nonce: "n-0S6_WzA2Mj", ...options });
    await expect(verified).resolves.toMatchObject({ claims: { sub: "248289761001", exp: 1_311_281_970 } });
  });

  it("appendix A.3 has expired, and has no hash of a code", async () => {
    const { token } = WITH_ACCESS_TOKEN;
    await expect(coreVerifier(1_311_281_975).verify(token)).rejects.toMatchObject({ code: "expired" });
    const withCode = coreVerifier(1_311_281_000).verify(token, WITH_CODE.options);
    await expect(withCode).rejects.toMatchObject({ code: "invalid_claim", claim: "c_hash" });
  });
});

/** RFC 7515: the payload of the examples, which has no aud, iat and sub. */
const JOE = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

const EXAMPLES: readonly (readonly [
  name: string,
  alg: JwtAlgorithm,
  jwk: object,
  header: string,
  signature: string,
])[] = [
  [
    "A.2",
    "RS256",
    {
      kty: "RSA",
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
    },
    "eyJhbGciOiJSUzI1NiJ9",
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
  ],
  [
    "A.3",
    "ES256",
    {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    },
    "eyJhbGciOiJFUzI1NiJ9",
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
  ],
];

describe.each(EXAMPLES)("RFC 7515 appendix %s", (_name, alg, jwk, header, signature) => {
  const verifier = createJwtVerifier({
    type: "id_token",
    issuer: "joe",
    audience: "rp",
    keys: createStaticKeySet({ keys: [jwk] }, { allowMissingKid: true }),
    algorithms: [alg],
    now: () => 1_300_819_000_000,
  });

  it("has a good signature, and is no ID token", async () => {
    const refused = verifier.verify(`${header}.${JOE}.${signature}`);
    await expect(refused).rejects.toMatchObject({ code: "invalid_claim", claim: "iat" });
  });

  it("has a bad signature for other claims", async () => {
    const claims = Buffer.from(JOE, "base64url").toString().replace("joe", "jim");
    const other = Buffer.from(claims).toString("base64url");
    await expect(verifier.verify(`${header}.${other}.${signature}`)).rejects.toMatchObject({ code: "bad_signature" });
  });
});
