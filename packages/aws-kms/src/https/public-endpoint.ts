/** What selects one of the public endpoints of KMS. */
export interface EndpointSelection {
  readonly region: string;
  readonly useFipsEndpoint: boolean;
  readonly useDualstackEndpoint: boolean;
}

interface Partition {
  /** Matches the Regions of the partition. */
  readonly regions: RegExp;
  readonly suffix: string;
  readonly dualstackSuffix: string;
}

const COMMERCIAL: Partition = { regions: /^/, suffix: "amazonaws.com", dualstackSuffix: "api.aws" };

// The partitions of AWS with their own DNS names, from the endpoint rules that AWS publishes with its SDKs.
const PARTITIONS: readonly Partition[] = [
  { regions: /^(?:aws-)?cn-/, suffix: "amazonaws.com.cn", dualstackSuffix: "api.amazonwebservices.com.cn" },
  { regions: /^eusc-de-/, suffix: "amazonaws.eu", dualstackSuffix: "api.amazonwebservices.eu" },
  { regions: /^(?:us|aws)-iso-/, suffix: "c2s.ic.gov", dualstackSuffix: "api.aws.ic.gov" },
  { regions: /^(?:us-isob|aws-iso-b)-/, suffix: "sc2s.sgov.gov", dualstackSuffix: "api.aws.scloud" },
  { regions: /^(?:eu-isoe|aws-iso-e)-/, suffix: "cloud.adc-e.uk", dualstackSuffix: "api.cloud-aws.adc-e.uk" },
  { regions: /^(?:us-isof|aws-iso-f)-/, suffix: "csp.hci.ic.gov", dualstackSuffix: "api.aws.hci.ic.gov" },
];

/** The public endpoint of KMS in a Region: `https://kms.eu-west-1.amazonaws.com`. */
export function publicEndpoint({ region, useFipsEndpoint, useDualstackEndpoint }: EndpointSelection): string {
  const { suffix, dualstackSuffix } = PARTITIONS.find(({ regions }) => regions.test(region)) ?? COMMERCIAL;
  return `https://${useFipsEndpoint ? "kms-fips" : "kms"}.${region}.${useDualstackEndpoint ? dualstackSuffix : suffix}`;
}
