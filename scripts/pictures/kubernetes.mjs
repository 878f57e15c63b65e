import { arrow, picture, rect, text } from "./svg.mjs";

/** Who asks whom for a ServiceAccount token. docs/kubernetes.md shows it. */
export function kubernetesPicture() {
  return picture(
    "A kubelet asks kube-apiserver for the token of a pod. On the same control plane, kube-apiserver sends the claims through a Unix socket to the signer, which sends a digest to the KMS or HSM and verifies the signature that comes back. kube-apiserver gets the public keys through the same socket, and publishes them. Pods use the token, and verifiers check it with the published keys.",
    332,
    [
      rect(4, 104, 352, 138, "paper", { round: 8 }),
      text(346, 232, "a control plane", { anchor: "end", strong: true }),
      box(14, 14, "kubelet", "asks for a pod"),
      box(226, 14, "verifiers", "Vault, a cloud"),
      arrow([72, 62], [72, 112]),
      text(80, 92, "TokenRequest"),
      arrow([280, 112], [280, 62]),
      text(272, 92, "JWKS", { anchor: "end" }),

      rect(14, 112, 332, 44, "box", { round: 4 }),
      text(180, 131, "kube-apiserver", { anchor: "middle", strong: true }),
      text(180, 148, "the claims, TokenReview, discovery", { anchor: "middle" }),
      arrow([72, 156], [72, 188]),
      text(80, 177, "claims"),
      arrow([200, 188], [200, 156]),
      text(208, 177, "public keys"),
      rect(14, 188, 212, 44, "new", { round: 4 }),
      text(120, 207, "signpost-kubernetes", { anchor: "middle", strong: true }),
      text(120, 224, "checks claims, verifies each", { anchor: "middle" }),

      arrow([72, 232], [72, 276]),
      text(80, 264, "a digest"),
      arrow([180, 276], [180, 232]),
      text(188, 264, "a signature"),
      rect(14, 276, 212, 44, "old", { round: 4 }),
      text(120, 295, "KMS or HSM", { anchor: "middle", strong: true }),
      text(120, 312, "the private key", { anchor: "middle" }),
    ],
  );
}

/** @param {number} x @param {number} y @param {string} name @param {string} words */
function box(x, y, name, words) {
  return [
    rect(x, y, 120, 48, "box", { round: 4 }),
    text(x + 60, y + 20, name, { anchor: "middle", strong: true }),
    text(x + 60, y + 38, words, { anchor: "middle" }),
  ].join("\n");
}
