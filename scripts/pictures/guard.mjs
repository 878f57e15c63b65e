import { arrow, picture, rect, text } from "./svg.mjs";

/** The horizontal center of the boxes. */
const MIDDLE = 114;

/** The path of a call through a guarded signer, with the defaults of the policy. */
export function guardPicture() {
  return picture(
    "A call passes the guard: it waits in the queue for a slot, and makes an attempt. After a transient error it pauses and waits for a slot again. Each attempt is one call of the signer, and the signer calls the backend.",
    494,
    [
      box(4, "your code", "sign(digest)"),
      arrow([MIDDLE, 48], [MIDDLE, 76]),

      rect(4, 76, 352, 264, "paper", { round: 8 }),
      text(14, 96, "guard", { strong: true }),
      text(346, 96, "deadlineMs 5000, for the complete call", { anchor: "end", color: "soft" }),
      box(108, "queue", "maxQueue 1000"),
      arrow([MIDDLE, 152], [MIDDLE, 176]),
      box(176, "slot", "concurrency 16, or a limiter"),
      arrow([MIDDLE, 220], [MIDDLE, 244]),
      box(244, "attempt", "attemptTimeoutMs 2000"),
      arrow([214, 266], [236, 266], [236, 130], [214, 130]),
      text(244, 187, "after a transient", { color: "soft" }),
      text(244, 202, "error and a pause", { color: "soft" }),
      text(244, 217, "maxAttempts 3", { color: "soft" }),
      text(14, 310, "updates health(), and publishes an event for each", { color: "soft" }),
      text(14, 326, "call on the channel signpost:sign", { color: "soft" }),

      arrow([MIDDLE, 340], [MIDDLE, 374]),
      text(MIDDLE + 10, 361, "one call for each attempt", { color: "soft" }),
      box(374, "signer", "policy: false returns this one"),
      arrow([MIDDLE, 418], [MIDDLE, 446]),
      box(446, "backend", "a KMS, an HSM, a local key"),
    ],
  );
}

const BOX = { x: 14, width: 200, height: 44 };

/** @param {number} y @param {string} name @param {string} words */
function box(y, name, words) {
  return [
    rect(BOX.x, y, BOX.width, BOX.height, "box", { round: 4 }),
    text(MIDDLE, y + 18, name, { anchor: "middle", strong: true }),
    text(MIDDLE, y + 35, words, { anchor: "middle" }),
  ].join("\n");
}
