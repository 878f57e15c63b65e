import type { Target } from "../engine/target.ts";
import { BACKENDS_CLOUD } from "./backends-cloud.ts";
import { BACKENDS_HTTP } from "./backends-http.ts";
import { BACKENDS_KEYS } from "./backends-keys.ts";
import { CLI_DOCUMENTS } from "./cli-documents.ts";
import { CLI_NETWORK } from "./cli-network.ts";
import { CORE_DOCUMENTS } from "./core-documents.ts";
import { CORE_ENCODING } from "./core-encoding.ts";
import { CORE_HTTP } from "./core-http.ts";
import { HOSTS } from "./hosts.ts";
import { KUBERNETES } from "./kubernetes.ts";
import { VERIFY_BODIES } from "./verify-bodies.ts";
import { VERIFY_HTTP } from "./verify-http.ts";
import { VERIFY_TOKENS } from "./verify-tokens.ts";
import { X509 } from "./x509.ts";

/** Every target, in the order of the table in docs/fuzzing.md. */
export const TARGETS: readonly Target[] = [
  ...CORE_ENCODING,
  ...CORE_HTTP,
  ...CORE_DOCUMENTS,
  ...VERIFY_TOKENS,
  ...VERIFY_HTTP,
  ...VERIFY_BODIES,
  ...BACKENDS_CLOUD,
  ...BACKENDS_HTTP,
  ...BACKENDS_KEYS,
  ...HOSTS,
  ...KUBERNETES,
  ...X509,
  ...CLI_DOCUMENTS,
  ...CLI_NETWORK,
];
