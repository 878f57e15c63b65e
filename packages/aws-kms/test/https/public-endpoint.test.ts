import { KMSClient } from "@aws-sdk/client-kms";
import { expect, test } from "vitest";
import { publicEndpoint } from "../../src/https/public-endpoint.ts";

const client = new KMSClient({ region: "eu-west-1" });

/** Each partition, Regions that exist, and names that a new Region could have. */
const REGIONS = `
  us-east-1 eu-west-1 ap-southeast-7 mx-central-1 il-central-1 xx-new-1 eu-new-12
  us-gov-west-1 us-gov-east-1 us-gov-north-9
  cn-north-1 cn-northwest-1 cn-south-9 eusc-de-east-1 eusc-de-west-9
  us-iso-east-1 us-iso-west-1 us-isob-east-1 us-isob-west-9 eu-isoe-west-1 us-isof-south-1
`
  .trim()
  .split(/\s+/);
const FLAGS = [false, true].flatMap((useFipsEndpoint) =>
  [false, true].map((useDualstackEndpoint) => ({ useFipsEndpoint, useDualstackEndpoint })),
);

test.each(REGIONS.flatMap((region) => FLAGS.map((flags) => ({ region, ...flags }))))(
  "$region (FIPS $useFipsEndpoint, dual-stack $useDualstackEndpoint) has the endpoint of the SDK's rules",
  ({ region, useFipsEndpoint, useDualstackEndpoint }) => {
    const { url } = client.config.endpointProvider({
      Region: region,
      UseFIPS: useFipsEndpoint,
      UseDualStack: useDualstackEndpoint,
    });
    expect(publicEndpoint({ region, useFipsEndpoint, useDualstackEndpoint })).toBe(url.origin);
  },
);
