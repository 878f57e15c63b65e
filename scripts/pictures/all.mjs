import { backendsPicture } from "./backends.mjs";
import { conceptsPicture } from "./concepts.mjs";
import { guardPicture } from "./guard.mjs";
import { kubernetesPicture } from "./kubernetes.mjs";
import { rotationPicture } from "./rotation.mjs";
import { rs256MovePicture } from "./rs256-move.mjs";
import { terminalPictures } from "./terminal.mjs";
import { trustPicture } from "./trust.mjs";

/** The pictures by their files, relative to the clone. @type {Readonly<Record<string, string>>} */
export const PICTURES = {
  "docs/img/backends.svg": backendsPicture(),
  "docs/img/concepts.svg": conceptsPicture(),
  "docs/img/guard.svg": guardPicture(),
  "docs/img/kubernetes.svg": kubernetesPicture(),
  "docs/img/rotation.svg": rotationPicture(),
  "docs/img/rs256-move.svg": rs256MovePicture(),
  "docs/img/trust.svg": trustPicture(),
  ...terminalPictures(),
};
