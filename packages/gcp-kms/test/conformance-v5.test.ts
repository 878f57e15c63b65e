import { CLIENTS } from "./support/clients.ts";
import { describeConformance } from "./support/conformance.ts";

for (const kind of CLIENTS.filter(({ version }) => version === 5)) describeConformance(kind);
