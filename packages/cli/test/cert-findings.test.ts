import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import { findingsOf } from "../src/cert/inspect/findings.ts";
import { printChain } from "../src/cert/inspect/render.ts";
import { createOutput } from "../src/terminal/output.ts";

// What `signpost cert inspect` says of a chain, with chains that are made by hand.

const NOW = Date.parse("2026-07-01T00:00:00Z");
const DAY = 86_400_000;

function certificate(more: object = {}): object {
  return {
    subject: "CN=op.example",
    issuer: "CN=Root",
    serialNumber: "0a",
    notBefore: new Date("2026-01-01T00:00:30Z"),
    notAfter: new Date(NOW + 100 * DAY),
    subjectAltNames: [],
    keyType: "EC P-256",
    thumbprint: "thumb",
    x5tS256: "x5t",
    ...more,
  };
}

const LEAF = certificate();
const ROOT = certificate({ subject: "CN=Root", keyType: "RSA 2048", thumbprint: undefined });

interface Given {
  readonly chain?: readonly object[];
  readonly jwk?: object;
  readonly keys?: readonly object[];
  readonly withinDays?: number;
  readonly [more: string]: unknown;
}

function findings({ chain = [LEAF], jwk, keys, withinDays = 30, ...more }: Given): readonly string[] {
  const inspected = { chain, unrelated: [], isInOrder: true, endsWithRoot: false, problems: [], ...more };
  return findingsOf(
    inspected as never,
    { certificates: [], jwk } as never,
    { now: NOW, withinDays, keys } as never,
  ).map(({ check, level, text }) => `${check} ${level}: ${text}`);
}

const ORDER = "order ok: leaf first, 1 certificate";
const VALID = "validity ok: the leaf is the first to expire, in 100 d";
const expiring = (days: number): object => certificate({ notAfter: new Date(NOW + days * DAY) });
const PATH = "path ok: each certificate is signed by the next one, which may issue";

describe("a chain", () => {
  test.each<[what: string, given: Given, expected: readonly string[]]>([
    ["of nothing", { chain: [] }, []],
    ["of a leaf", {}, [ORDER, VALID]],
    ["of two", { chain: [LEAF, ROOT] }, ["order ok: leaf first, 2 certificates", VALID, PATH]],
    [
      "with its root",
      { chain: [LEAF, ROOT], endsWithRoot: true },
      [
        "order ok: leaf first, 2 certificates",
        "order note: ends with its root, which HAIP wants left out of x5c",
        VALID,
        PATH,
      ],
    ],
    ["of a root alone", { endsWithRoot: true }, [ORDER, VALID]],
    [
      "in another order",
      { chain: [LEAF, ROOT], isInOrder: false },
      ["order warning: not leaf first, as x5c requires: 2 certificates, shown in the right order", VALID, PATH],
    ],
    [
      "with strangers",
      { isInOrder: false, unrelated: [1, 2] },
      ["order warning: 2 of the certificates are not part of the chain of the leaf", VALID],
    ],
    [
      "whose second one expires first",
      { chain: [LEAF, expiring(50), expiring(60)] },
      ["order ok: leaf first, 3 certificates", "validity ok: certificate 2 is the first to expire, in 50 d", PATH],
    ],
    [
      "whose last one expires first",
      { chain: [LEAF, expiring(60), expiring(50)] },
      ["order ok: leaf first, 3 certificates", "validity ok: certificate 3 is the first to expire, in 50 d", PATH],
    ],
    [
      "whose certificates expire together",
      { chain: [expiring(50), expiring(50)] },
      ["order ok: leaf first, 2 certificates", "validity ok: the leaf is the first to expire, in 50 d", PATH],
    ],
    ["at the limit", { chain: [expiring(30)] }, [ORDER, "validity ok: the leaf is the first to expire, in 30 d"]],
    [
      "within the limit",
      { chain: [expiring(29)] },
      [ORDER, "validity warning: the leaf is the first to expire, in 29 d"],
    ],
    [
      "with faults",
      {
        problems: [
          { code: "expired", certificate: 0, message: "it has expired" },
          { code: "not_yet_valid", certificate: 1, message: "it is not valid yet" },
          { code: "untrusted", certificate: 0, message: "leads nowhere" },
          { code: "signature", certificate: 1, message: "wrong signature" },
          { code: "anchor", certificate: -1, message: "the anchor is wrong" },
        ],
      },
      [
        ORDER,
        "validity problem: the leaf: it has expired",
        "validity problem: certificate 2: it is not valid yet",
        "path problem: certificate 2: wrong signature",
        "path problem: the anchor is wrong",
      ],
    ],
    ["that is trusted", { isTrusted: true }, [ORDER, VALID, "trust ok: leads to a certificate that you trust"]],
    ["that is not", { isTrusted: false }, [ORDER, VALID, "trust problem: leads to no certificate that you trust"]],
    [
      "with another type of key",
      { chain: [certificate({ keyType: "EC P-384" })] },
      [ORDER, VALID, "key warning: the leaf's key is EC P-384, and Signpost signs with EC P-256 only"],
    ],
    ["of its JWK", { jwk: { thumbprint: "thumb" } }, [ORDER, VALID, "key ok: the leaf has the key of its JWK"]],
    [
      "of another JWK",
      { jwk: { thumbprint: "other" } },
      [ORDER, VALID, "key problem: the leaf has another key than its JWK"],
    ],
    [
      "without a thumbprint",
      { chain: [certificate({ thumbprint: undefined })], jwk: { thumbprint: undefined } },
      [ORDER, VALID, "key problem: the leaf has another key than its JWK"],
    ],
    [
      "of a key of the configuration",
      {
        keys: [
          { keyId: "a", thumbprint: "x" },
          { keyId: "b", thumbprint: "thumb" },
        ],
      },
      [ORDER, VALID, "key ok: the leaf has the key b of the configuration"],
    ],
    ["of no such key", { keys: [] }, [ORDER, VALID, "key problem: the leaf has no key of the configuration"]],
    ...["digitalSignature", "contentCommitment"].map((usage): [string, Given, readonly string[]] => [
      `for ${usage}`,
      { chain: [certificate({ keyUsage: ["keyAgreement", usage] })] },
      [ORDER, VALID],
    ]),
    [
      "for something else",
      { chain: [certificate({ keyUsage: ["keyAgreement"] })] },
      [ORDER, VALID, "usage problem: the key usage of the leaf does not allow signatures: digitalSignature is missing"],
    ],
    [
      "of an authority",
      { chain: [certificate({ basicConstraints: { ca: true } })] },
      [ORDER, VALID, "usage warning: the leaf is the certificate of an authority"],
    ],
    ["of no authority", { chain: [certificate({ basicConstraints: { ca: false } })] }, [ORDER, VALID]],
  ])("%s", (_what, given, expected) => {
    expect(findings(given)).toEqual(expected);
  });
});

describe("a chain is printed", () => {
  const printed = (chain: readonly object[], kid?: string, columns = 100): string => {
    let text = "";
    const write = (part: string | Uint8Array): void => void (text += String(part));
    const output = createOutput({ write, colors: createColors(false), columns, isTerminal: true });
    const findings = [
      { check: "order", level: "ok", text: "leaf first" },
      { check: "path", level: "problem", text: "wrong\u202e" },
    ];
    printChain({ kid, chain, findings } as never, output);
    return text;
  };

  test.each<[what: string, chain: readonly object[], kid?: string]>([
    ["with all that it has", [LEAF, ROOT], "sig\u202e"],
    [
      "with names and usages",
      [
        certificate({
          subject: "",
          subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }, { other: "1.2.3" }],
          keyUsage: ["digitalSignature", "keyAgreement"],
          extendedKeyUsage: ["serverAuth", "clientAuth"],
          basicConstraints: { ca: false },
        }),
      ],
    ],
    [
      "of authorities",
      [certificate({ basicConstraints: { ca: true, pathLength: 0 } }), certificate({ basicConstraints: { ca: true } })],
    ],
    ["without a name", [certificate({ subject: "" })]],
  ])("%s", (_what, chain, kid) => {
    expect(printed(chain, kid)).toMatchSnapshot();
  });
});
