import { arrow, picture, rect, text } from "./svg.mjs";

/** Questions in the order in which docs/choose-a-backend.md asks them. @type {readonly (readonly [string, string])[]} */
const QUESTIONS = [
  ["Development or tests?", "local"],
  ["A device of your own?", "PKCS#11"],
  ["Does the OP run in AWS?", "AWS KMS"],
  ["In Google Cloud?", "Google KMS"],
  ["In Azure?", "Key Vault"],
  ["Do you run Vault or OpenBao?", "Transit"],
];

/** The distance from one question to the next. */
const STEP = 54;

/** A first answer to the question where a key should be. */
export function backendsPicture() {
  const last = 8 + QUESTIONS.length * STEP;
  const asked = QUESTIONS.map(([question, answer]) => `${question} Then ${answer}.`).join(" ");
  return picture(`Ask in this order, and stop at the first yes. ${asked} Otherwise any cloud's KMS.`, last + 40, [
    ...QUESTIONS.flatMap(([question, answer], index) => step(8 + index * STEP, question, answer)),
    rect(8, last, 200, 32, "new", { round: 4 }),
    text(108, last + 20, "any cloud's KMS", { anchor: "middle", strong: true }),
  ]);
}

/** @param {number} y @param {string} question @param {string} answer */
function step(y, question, answer) {
  return [
    rect(8, y, 200, 32, "box", { round: 4 }),
    text(108, y + 20, question, { anchor: "middle" }),
    arrow([208, y + 16], [252, y + 16]),
    text(228, y + 10, "yes", { anchor: "middle", color: "soft" }),
    rect(252, y, 100, 32, "new", { round: 4 }),
    text(302, y + 20, answer, { anchor: "middle", strong: true }),
    arrow([108, y + 32], [108, y + STEP]),
    text(116, y + 47, "no", { color: "soft" }),
  ];
}
