import { fileURLToPath } from "node:url";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { runBench } from "./harness.ts";
import type { Fact, Pairing } from "./harness.ts";
import { installedSize } from "./installed-size.ts";
import { start, starting as contender } from "./start-process.ts";
import type { StartTask } from "./start-program.ts";

/** On top of the SDK alone. Milliseconds. */
const TARGET_ADDED_MS = 15;
const PACKAGES: readonly (readonly [name: string, sdk: string | undefined])[] = [
  ["@signpost/core", undefined],
  ["@signpost/local", undefined],
  ["@signpost/verify", undefined],
  ["@signpost/aws-kms", "@aws-sdk/client-kms"],
  ["@signpost/gcp-kms", "@google-cloud/kms"],
  ["@signpost/pkcs11", "pkcs11js"],
];

await runBench({
  name: "start",
  title: "Cold starts: importing each package, and the first signature, in a fresh process each time",
  packages: ["@signpost/core", "@aws-sdk/client-kms", "@google-cloud/kms"],
  setUp: async () => {
    const fake = await startFakeAwsKms();
    const { arn: keyArn, publicKey } = fake.addKey();
    if (publicKey === undefined) throw new Error("the key has no public half");
    const publicJwk = publicKey.export({ format: "jwk" });
    const { endpoint, region } = fake;
    const signing = { task: "sign", endpoint, region, keyArn } as const;
    const sdk = contender("SignCommand of the SDK", { ...signing, by: "sdk" });
    const first = (name: string, ours: StartTask): Pairing => ({
      name: `first signature by AWS KMS, ${name}`,
      ours: contender("openAwsKmsSigner and sign", ours),
      peer: sdk,
      pairs: 12,
      target: { addedMs: TARGET_ADDED_MS },
    });
    return {
      pairings: [
        ...PACKAGES.map(importing),
        first("public key fetched", { ...signing, by: "signer" }),
        first("public key pinned", { ...signing, by: "signer", publicKey: publicJwk }),
      ],
      facts: async () => [...(await sizes()), ...(await memory()), ...(await calls())],
      tearDown: () => fake.stop(),
    };

    /** Calls to the service, in a start with a pinned key and in one without. */
    async function calls(): Promise<Fact[]> {
      const counted = async (name: string, task: StartTask): Promise<Fact> => {
        const before = fake.requests.length;
        await start(task);
        const names = fake.requests.slice(before).map(({ operation }) => operation);
        return { name: `calls of AWS KMS up to the first signature, ${name}`, value: names.join(", ") };
      };
      return [
        await counted("public key fetched", { ...signing, by: "signer" }),
        await counted("public key pinned", { ...signing, by: "signer", publicKey: publicJwk }),
      ];
    }
  },
});

/** Compared with the SDK that the user has anyway, or with nothing at all. */
function importing([name, sdk]: (typeof PACKAGES)[number]): Pairing {
  const names = sdk === undefined ? [] : [sdk];
  return {
    name: `import of ${name}`,
    ours: contender(sdk === undefined ? name : `${name} and ${sdk}`, { task: "import", names: [...names, name] }),
    peer: contender(sdk ?? "nothing", { task: "import", names }),
    pairs: 12,
    target: { addedMs: TARGET_ADDED_MS },
  };
}

async function memory(): Promise<Fact[]> {
  const rss = async (names: readonly string[]): Promise<string> =>
    (await start({ task: "import", names })).rssMiB.toFixed(1);
  const facts: Fact[] = [{ name: "resident memory of a process that imports nothing", value: `${await rss([])} MiB` }];
  for (const [name, sdk] of PACKAGES) {
    const alone = sdk === undefined ? "" : `; ${sdk} alone ${await rss([sdk])} MiB`;
    const names = sdk === undefined ? [name] : [sdk, name];
    facts.push({ name: `resident memory with ${names.join(" and ")}`, value: `${await rss(names)} MiB${alone}` });
  }
  return facts;
}

async function sizes(): Promise<Fact[]> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  return Promise.all(
    PACKAGES.map(async ([name]) => {
      const { own, withDependencies, dependencies } = await installedSize(name, here);
      const kib = (bytes: number): string => `${Math.round(bytes / 1024)} KiB`;
      return {
        name: `installed size of ${name}`,
        value: `${kib(own)}; with its ${dependencies} dependencies ${kib(withDependencies)}`,
      };
    }),
  );
}
