import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { ecdsaDerToRaw, ecdsaRawToDer, spkiToJwk } from "@signpost/core";
import { fromBER, type Integer, type Sequence } from "asn1js";
import { derToJose, joseToDer } from "ecdsa-sig-formatter";
import { runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const der = sign("sha256", Buffer.from("header.payload"), privateKey);
const raw = ecdsaDerToRaw(der);
const spki = publicKey.export({ type: "spki", format: "der" });

function repeated(name: string, work: () => unknown): Contender {
  return {
    name,
    run: async (operations) => {
      for (let done = 0; done < operations; done += 1) work();
    },
  };
}

function pairingOf(name: string, ours: Contender, peer: Contender): Pairing {
  return { name: `${name}, against ${peer.name}`, ours, peer, operations: 2000, pairs: 100 };
}

/** Only the parser's work: no rule of DER or of the curve is checked. */
function readBare(): Uint8Array {
  const { valueBlock } = fromBER(der).result as Sequence;
  const [r, s] = valueBlock.value as [Integer, Integer];
  const out = new Uint8Array(64);
  for (const [end, value] of [
    [32, r],
    [64, s],
  ] as const) {
    const bytes = value.valueBlock.valueHexView;
    const magnitude = bytes.length > 32 ? bytes.subarray(-32) : bytes;
    out.set(magnitude, end - magnitude.length);
  }
  return out;
}

await runBench({
  name: "encodings",
  title: "Encodings, with strict checks on our side",
  packages: ["@signpost/core", "@noble/curves", "asn1js", "ecdsa-sig-formatter"],
  setUp: async () => {
    const derToRaw = repeated("ecdsaDerToRaw", () => ecdsaDerToRaw(der));
    const rawToDer = repeated("ecdsaRawToDer", () => ecdsaRawToDer(raw));
    return {
      pairings: [
        pairingOf("DER to raw", derToRaw, repeated("asn1js alone", readBare)),
        pairingOf(
          "DER to raw",
          derToRaw,
          repeated("ecdsa-sig-formatter", () => derToJose(der, "ES256")),
        ),
        pairingOf(
          "DER to raw",
          derToRaw,
          repeated("@noble/curves", () => p256.Signature.fromBytes(der, "der").toBytes("compact")),
        ),
        {
          ...pairingOf(
            "raw to DER",
            rawToDer,
            repeated("ecdsa-sig-formatter", () => joseToDer(Buffer.from(raw), "ES256")),
          ),
          target: { ratio: 1.5 },
        },
        {
          ...pairingOf(
            "SPKI to JWK",
            repeated("spkiToJwk", () => spkiToJwk(spki)),
            repeated("node:crypto", () =>
              createPublicKey({ key: spki, format: "der", type: "spki" }).export({ format: "jwk" }),
            ),
          ),
          operations: 500,
        },
      ],
      tearDown: async () => {},
    };
  },
});
