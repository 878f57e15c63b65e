// Runs in a copy of the clone: bundles what programs of tests run.
import { bundlePackages } from "../lib/bundle.mjs";

await bundlePackages();
