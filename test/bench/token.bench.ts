import { createPrivateKey, generateKeyPairSync, hash, sign, webcrypto } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createSigner } from "fast-jwt";
import { importPKCS8, SignJWT } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { CLAIMS } from "./claims.ts";
import { runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { instantSigner } from "./instant-signer.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const KID = "sig-2026";
type Verify = "always" | "first";

/** Of fast-jwt, where neither side verifies. */
const GUARDED_TARGET_RATIO = 1.25;
const BARE_TARGET_RATIO = 1.05;
const PAIRS = 100;
const OPERATIONS = 100;

await runBench({
  name: "token",
  title: "A token with a local key, end to end, against JWT libraries",
  packages: ["@signpost/core", "@signpost/local", "jose", "jsonwebtoken", "fast-jwt"],
  setUp: async () => {
    const signer = await openLocalSigner({ privateKey: PEM });
    const keys = createKeySet([{ keyId: KID, signer }]);
    const bareSigner = await openLocalSigner({ privateKey: PEM, policy: false });
    const bareKeys = createKeySet([{ keyId: KID, signer: bareSigner }]);
    const ours = (verify: Verify): Contender => ({
      name: verify === "always" ? "signJwt" : "signJwt, the first one verified",
      run: sequentially(() => signJwt(keys, CLAIMS, { verify })),
    });
    const joseKey = await importPKCS8(PEM, "ES256");
    const byJose = async (): Promise<unknown> =>
      new SignJWT(CLAIMS).setProtectedHeader({ alg: "ES256", kid: KID }).sign(joseKey);
    const keyObject = createPrivateKey(PEM);
    const fastSign = createSigner({ key: PEM, algorithm: "ES256", kid: KID });
    const fastJwt: Contender = { name: "fast-jwt", run: sequentially(async () => fastSign({ ...CLAIMS })) };
    const peers: readonly Contender[] = [
      { name: "jose SignJWT", run: sequentially(byJose) },
      {
        name: "jsonwebtoken",
        run: sequentially(async () =>
          jsonwebtoken.sign(CLAIMS, keyObject, { algorithm: "ES256", keyid: KID, noTimestamp: true }),
        ),
      },
      fastJwt,
    ];
    const against = (peer: Contender, verify: Verify): Pairing => ({
      name: `against ${peer.name}${verify === "first" ? ", neither verifies" : ""}`,
      ours: ours(verify),
      peer,
      operations: OPERATIONS,
      pairs: PAIRS,
    });
    return {
      pairings: [
        ...peers.map((peer) => against(peer, "always")),
        ...peers.map((peer) => ({
          ...against(peer, "first"),
          ...(peer === fastJwt && { target: { ratio: GUARDED_TARGET_RATIO } }),
        })),
        {
          ...against(fastJwt, "first"),
          name: "against fast-jwt, neither verifies, without the guard",
          ours: {
            name: "signJwt with a bare signer, the first one verified",
            run: sequentially(() => signJwt(bareKeys, CLAIMS, { verify: "first" })),
          },
          target: { ratio: BARE_TARGET_RATIO },
        },
        {
          ...against(fastJwt, "first"),
          name: "against fast-jwt, neither verifies, node:crypto alone",
          ours: { name: "both hashes and sign of node:crypto", run: sequentially(async () => signByHand(keyObject)) },
        },
        await assembly(),
      ],
      tearDown: async () => {
        await Promise.all([signer.close(), bareSigner.close()]);
      },
    };
  },
});

/** What no library can leave out: `signJwt` hashes what is signed, and a signer of digests hashes it again to compare. */
function signByHand(key: KeyObject): string {
  const [header, payload] = [{ alg: "ES256", kid: KID }, CLAIMS].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  const input = Buffer.from(`${header}.${payload}`, "latin1");
  if (!hash("sha256", input, "buffer").equals(hash("sha256", input, "buffer"))) throw new Error("the hashes differ");
  return `${header}.${payload}.${sign("sha256", input, { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** The token without its signature: both sides get one that was made before. */
async function assembly(): Promise<Pairing> {
  const signer = await instantSigner(CLAIMS);
  const keys = createKeySet([{ signer }]);
  const header = { alg: "ES256", kid: keys.active.keyId };
  const key = await importPKCS8(PEM, "ES256");
  const signature = new ArrayBuffer(64);
  const { subtle } = webcrypto;
  const byJose = sequentially(() => new SignJWT(CLAIMS).setProtectedHeader(header).sign(key));
  return {
    name: "assembly alone: the signature is there already",
    ours: { name: "signJwt", run: sequentially(() => signJwt(keys, CLAIMS, { verify: "first" })) },
    peer: {
      name: "jose SignJWT",
      run: async (operations) => {
        Object.defineProperty(subtle, "sign", { value: async () => signature, configurable: true });
        try {
          return await byJose(operations);
        } finally {
          Reflect.deleteProperty(subtle, "sign");
        }
      },
    },
    operations: OPERATIONS,
    pairs: PAIRS,
    target: { ratio: 1 },
  };
}
