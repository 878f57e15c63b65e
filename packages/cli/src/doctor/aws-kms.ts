import { kmsPlace, openKmsCalls } from "../backends/aws-kms.ts";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** Sends one command. Resolves to its answer, or to the name of the service's error. */
export type AskKms = (
  command: "DescribeKey" | "GetKeyPolicy" | "CreateGrant",
  input: object,
) => Promise<object | string>;

/** A key in AWS KMS: its attributes, and what else these credentials may do. */
export const AWS_KMS: BackendChecks = {
  clockUrl: ({ options, context }, key) => {
    const { endpoint, region } = kmsPlace(key.uri, options, context.env);
    return endpoint ?? (region === undefined ? undefined : `https://kms.${region}.${domainOf(region)}/`);
  },
  examine: async ({ uri, options, context }, key) => {
    const place = kmsPlace(key.uri, options, context.env);
    const calls = await openKmsCalls(place, context);
    if (calls === undefined) return [note("key", "not examined: this needs @aws-sdk/client-kms")];
    const ask: AskKms = (command, input) =>
      calls.call(command, input).catch((error: unknown) => (error instanceof Error ? error.name : "Error"));
    try {
      const isService = place.endpoint === undefined;
      return await examineKmsKey(ask, { id: place.id, isAlias: isAlias(uri), isService });
    } finally {
      calls.close();
    }
  },
};

/** Regions in China have a domain of their own. */
function domainOf(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

function isAlias(uri: string): boolean {
  return /^awskms:\/\/[^/]*\/(?:arn:[^?]*:)?alias\//i.test(uri);
}

export interface KmsKeyName {
  readonly id: string;
  readonly isAlias: boolean;
  /** Whether it is the real service, which knows calls that change nothing. */
  readonly isService: boolean;
}

export async function examineKmsKey(ask: AskKms, { id, isAlias, isService }: KmsKeyName): Promise<readonly Finding[]> {
  const described = await ask("DescribeKey", { KeyId: id });
  const metadata: unknown = Reflect.get(Object(described), "KeyMetadata");
  return [
    ...(metadata === undefined
      ? [note("key", `not examined: DescribeKey says ${reason(described)}. Signing does not need this call`)]
      : attributeFindings(metadata as KeyMetadata)),
    isAlias
      ? warning(
          "rotation",
          "the URI names an alias, which can be moved to another key",
          "Name the key by its ARN, so that only a change of the configuration changes the key",
        )
      : ok("rotation", "the URI names one key. AWS never rotates the material of a key that signs"),
    ...(await permissionFindings(ask, id, isService)),
  ];
}

interface KeyMetadata {
  readonly Origin?: string;
  readonly MultiRegion?: boolean;
  readonly KeyManager?: string;
  readonly CustomKeyStoreId?: string;
  /** When imported material is deleted. */
  readonly ValidTo?: Date;
}

function attributeFindings({ Origin, MultiRegion, ValidTo }: KeyMetadata): readonly Finding[] {
  const origin =
    Origin === "EXTERNAL"
      ? warning(
          "key",
          "its material was imported, so a copy exists outside of AWS",
          "Create a key whose material AWS makes",
        )
      : ok("key", `made inside ${Origin === "AWS_CLOUDHSM" ? "CloudHSM" : "AWS KMS"}, not exportable`);
  const regions = note("key", "a multi-Region key: its replicas sign with the same material");
  return [origin, ...(MultiRegion === true ? [regions] : []), ...(ValidTo === undefined ? [] : [expiring(ValidTo)])];
}

function expiring(date: Date): Finding {
  const text = `AWS deletes its imported material at ${date.toISOString()}, and it cannot sign after that`;
  return warning("key", text, "Rotate to another key before then, or import the material again");
}

async function permissionFindings(ask: AskKms, id: string, isService: boolean): Promise<readonly Finding[]> {
  const policy = await ask("GetKeyPolicy", { KeyId: id, PolicyName: "default" });
  const text: unknown = Reflect.get(Object(policy), "Policy");
  const open = typeof text === "string" && isOpenToAll(text);
  const findings = [
    ...(open
      ? [
          problem(
            "permissions",
            "the key policy allows every AWS account",
            "Remove the principal *, or add a condition",
          ),
        ]
      : []),
    ...(typeof text === "string"
      ? [note("permissions", "these credentials may read the key policy, which signing does not need")]
      : []),
  ];
  if (!isService) return findings;
  // A dry run: the service checks the permission and makes no grant. An emulator might make it.
  const [, partition = "aws", , , account = ""] = id.split(":");
  const input = {
    KeyId: id,
    GranteePrincipal: `arn:${partition}:iam::${account}:root`,
    Operations: ["Sign"],
    DryRun: true,
  };
  if ((await ask("CreateGrant", input)) !== "DryRunOperationException") return findings;
  const todo = "Give them kms:GetPublicKey and kms:Sign on this key only";
  return [...findings, warning("permissions", "these credentials may let others sign (kms:CreateGrant)", todo)];
}

function isOpenToAll(policy: string): boolean {
  const statements: unknown = Reflect.get(Object(JSON.parse(policy)), "Statement");
  return [statements].flat().some((statement) => {
    const { Effect, Principal, Condition } = Object(statement) as Readonly<Record<string, unknown>>;
    const principals: unknown = typeof Principal === "string" ? Principal : Reflect.get(Object(Principal), "AWS");
    return (
      Effect === "Allow" && Object.keys(Object(Condition) as object).length === 0 && [principals].flat().includes("*")
    );
  });
}

function reason(answer: object | string): string {
  return typeof answer === "string" ? answer : "nothing";
}
