import { clientKind } from "./support/clients.ts";
import { describeConformance } from "./support/conformance.ts";

describeConformance(clientKind(6, "grpc"));
