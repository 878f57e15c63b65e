import { arrow, picture, rect, text } from "./svg.mjs";

/** Where data crosses from one party to another. docs/threat-model.md explains each number. */
export function trustPicture() {
  return picture(
    "Trust boundaries. Above: relying parties, caches and clients on the network, which are not trusted. In the middle: the process of the OP with the endpoint, your code, verify, signWith, the guard and the adapter. Below: operators with the configuration, the KMS or HSM with the private key, and npm with the packages. Numbers mark what crosses: 1 public keys go out, 2 tokens and URLs of clients come in, 3 digests go to the backend and signatures come back, 4 configuration comes in, 5 packages come in.",
    456,
    [
      zone(4, 96, "the network: not trusted"),
      box(14, 34, "relying party", "asks for keys"),
      box(130, 34, "cache", "nginx, CDN"),
      box(246, 34, "client", "may be hostile"),

      zone(146, 212, ""),
      text(346, 262, "the process", { anchor: "end", strong: true }),
      text(346, 278, "of the OP", { anchor: "end", strong: true }),
      box(14, 176, "endpoint", "public keys"),
      box(130, 176, "your code", "claims, policy"),
      box(246, 176, "verify", "keys by kid"),
      box(130, 242, "signWith", "verifies each"),
      box(130, 308, "adapter", "in the guard"),
      arrow([180, 220], [180, 242]),
      arrow([180, 286], [180, 308]),
      arrow([246, 198], [230, 198]),

      arrow([64, 176], [64, 128], [180, 128], [180, 78]),
      arrow([130, 56], [114, 56]),
      arrow([296, 78], [296, 176]),
      number(88, 128, "1"),
      number(296, 124, "2"),

      box(14, 408, "operators", "URIs, PINs"),
      box(130, 408, "KMS or HSM", "private keys"),
      box(246, 408, "npm", "packages"),
      arrow([172, 352], [172, 408]),
      arrow([188, 408], [188, 352]),
      arrow([64, 408], [64, 330], [130, 330]),
      arrow([296, 408], [296, 358]),
      number(180, 380, "3"),
      number(64, 380, "4"),
      number(296, 386, "5"),
    ],
  );
}

/** @param {number} y @param {number} height @param {string} name */
function zone(y, height, name) {
  return [rect(4, y, 352, height, "paper", { round: 8 }), text(14, y + 20, name, { strong: true })].join("\n");
}

/** @param {number} x @param {number} y @param {string} name @param {string} words */
function box(x, y, name, words) {
  return [
    rect(x, y, 100, 44, "box", { round: 4 }),
    text(x + 50, y + 18, name, { anchor: "middle", strong: true }),
    text(x + 50, y + 35, words, { anchor: "middle" }),
  ].join("\n");
}

/** A boundary that the text below the picture explains. @param {number} x @param {number} y @param {string} digit */
function number(x, y, digit) {
  return [
    rect(x - 9, y - 9, 18, 18, "new", { round: 9 }),
    text(x, y + 4, digit, { anchor: "middle", strong: true }),
  ].join("\n");
}
