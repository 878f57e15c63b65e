import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { SDJwtVcInstance } from "@sd-jwt/sd-jwt-vc";
import { createInputSigner, type KeySetSource } from "@signpost/core";
import { sdJwtHeader, sdJwtSigner } from "../../../examples/credential-issuer/src/sd-jwt.ts";
import { aroundRotation, type RotatingKeys } from "./rotating-keys.ts";

/** Issues SD-JWT VCs of `https://issuer.example` as the example does. Each is bound to another key of a wallet. */
export function createHaipIssuer(keys: KeySetSource): () => Promise<string> {
  const own = createInputSigner(keys);
  const instance = new SDJwtVcInstance({
    ...sdJwtSigner(own),
    hasher: (data) =>
      new Uint8Array(
        createHash("sha256")
          .update(typeof data === "string" ? data : new Uint8Array(data))
          .digest(),
      ),
    saltGenerator: (length) => randomBytes(length).toString("base64url"),
  });
  return async () => {
    const iat = Math.floor(Date.now() / 1000);
    const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
    const claims = {
      iss: "https://issuer.example",
      iat,
      exp: iat + 3600,
      vct: "urn:person",
      cnf: { jwk },
      given_name: "Ada",
    };
    return instance.issue(claims as never, { _sd: ["given_name"] } as never, { header: sdJwtHeader(own) });
  };
}

/** 1,000 of them, with a rotation to a key with another chain. Among them are some of both keys. */
export async function issueAroundRotation(keys: RotatingKeys): Promise<string[]> {
  const credentials = await aroundRotation(keys, createHaipIssuer(keys.source));
  const leaves = new Set(credentials.map((credential) => leafOf(credential)));
  if (leaves.size !== 2) throw new Error(`certificates of ${leaves.size} keys`);
  return credentials;
}

function leafOf(credential: string): unknown {
  const [header = ""] = credential.split(".");
  const { x5c } = JSON.parse(Buffer.from(header, "base64url").toString()) as { x5c?: string[] };
  return x5c?.[0];
}
