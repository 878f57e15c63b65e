import { arrow, picture, rect, text } from "./svg.mjs";

/** How the parts that a user names work together. docs/concepts.md explains each box. */
export function conceptsPicture() {
  return picture(
    "Two paths. A token: your code gives claims to signJwt, which sends a digest through the signer to the KMS or HSM, gets a signature, verifies it, and returns the token, which a relying party gets. Keys: a schedule gives the key set of this moment, the endpoint serves it, a cache keeps it, and the relying party reads it. signJwt and the endpoint use the same key set.",
    346,
    [
      rect(4, 4, 352, 246, "paper", { round: 8 }),
      text(346, 24, "your OP", { anchor: "end", strong: true }),
      box(0, 34, "your code", "claims"),
      box(1, 34, "schedule", "keys and dates"),
      box(0, 112, "signJwt", "verifies each"),
      box(1, 112, "key set", "of this moment"),
      box(2, 112, "endpoint", "JWKS, ETag"),
      box(0, 190, "signer", "in its guard"),
      arrow([64, 78], [64, 112]),
      arrow([180, 78], [180, 112]),
      arrow([130, 134], [114, 134]),
      arrow([230, 134], [246, 134]),
      arrow([44, 156], [44, 190]),
      arrow([64, 190], [64, 156]),

      box(0, 290, "KMS or HSM", "private key"),
      box(1, 290, "relying party", "verifies"),
      box(2, 290, "cache", "for hours"),
      arrow([44, 234], [44, 290]),
      arrow([64, 290], [64, 234]),
      text(39, 270, "digest", { anchor: "end", color: "soft" }),
      text(70, 270, "signature", { color: "soft" }),
      arrow([100, 156], [100, 174], [180, 174], [180, 290]),
      text(186, 270, "token", { color: "soft" }),
      arrow([296, 156], [296, 290]),
      text(302, 270, "keys", { color: "soft" }),
      arrow([246, 312], [230, 312]),
    ],
  );
}

/** @param {0 | 1 | 2} column @param {number} y @param {string} name @param {string} words */
function box(column, y, name, words) {
  const x = 14 + 116 * column;
  return [
    rect(x, y, 100, 44, "box", { round: 4 }),
    text(x + 50, y + 18, name, { anchor: "middle", strong: true }),
    text(x + 50, y + 35, words, { anchor: "middle" }),
  ].join("\n");
}
