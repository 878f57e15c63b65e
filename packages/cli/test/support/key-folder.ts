import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A working folder with key files. */
export interface KeyFolder extends AsyncDisposable {
  readonly path: string;
  /** Creates a key in a file, and returns its public half. */
  addKey(name: string): Promise<JsonWebKey>;
  /** Writes `RFC_KEY` to a file. */
  addRfcKey(name: string): Promise<void>;
  /** Writes a file: text as it is, anything else as JSON. */
  write(name: string, content: unknown): Promise<void>;
}

/** The key of RFC 7515 appendix A.3, for output that must always be the same. */
export const RFC_KEY = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
} as const;

export async function createKeyFolder(): Promise<KeyFolder> {
  const path = await mkdtemp(join(tmpdir(), "signpost-cli-"));
  const write = (name: string, content: unknown): Promise<void> =>
    writeFile(join(path, name), typeof content === "string" ? content : JSON.stringify(content));
  return {
    path,
    write,
    addKey: async (name) => {
      const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      await write(name, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
      return publicKey.export({ format: "jwk" });
    },
    addRfcKey: (name) => {
      const key = createPrivateKey({ key: RFC_KEY, format: "jwk" });
      return write(name, key.export({ type: "pkcs8", format: "pem" }).toString());
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}
