import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { inspectChain, readCertificates } from "@signpost/x509";
import { isOneDerElement } from "../../../packages/x509/src/encode/der.ts";
import { dottedOid, isOid, readOid } from "../../../packages/x509/src/encode/oid.ts";
import { pemBlocks, pemOf } from "../../../packages/x509/src/encode/pem.ts";
import { readAltNames } from "../../../packages/x509/src/names/alt-names.ts";
import { domainNameFault } from "../../../packages/x509/src/names/dns-name.ts";
import { encodeName } from "../../../packages/x509/src/names/encode-name.ts";
import { formatName } from "../../../packages/x509/src/names/format-name.ts";
import { ipBytes, ipText } from "../../../packages/x509/src/names/ip-address.ts";
import { readName } from "../../../packages/x509/src/names/read-name.ts";
import { derElements } from "../../../packages/core/src/certificate/der.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { LEAF_DER, LEAF_PEM, ROOT_DER, ROOT_PEM } from "./certificates.ts";
import { EC_SPKI, jsonOr, utf8 } from "./material.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

export const X509: readonly Target[] = [
  {
    name: "x509-certificate",
    parsers: [
      "x509/inspect/read-certificates.ts",
      "x509/inspect/certificate-info.ts",
      "x509/inspect/open-x509.ts",
      "x509/inspect/read-validity.ts",
      "x509/inspect/inspect-chain.ts",
      "x509/names/certificate-names.ts",
      "x509/names/format-name.ts",
    ],
    says: "reads only what OpenSSL reads, and the same serial number and times",
    structure: "der",
    seeds: [LEAF_DER, ROOT_DER],
    share: 0.5,
    check(input, probe) {
      const read = probe.attempt(() => readCertificates(input), {
        mayShow: "the cause is an error about DER, which is public",
      });
      if (!read.ok) return read.outcome;
      const [info] = read.value;
      must(info !== undefined && read.value.length === 1, "the bytes are one certificate");
      const x509 = new X509Certificate(input);
      mustEqual(hex(info.der), hex(input), "the DER is kept");
      mustEqual(
        [info.notBefore, info.notAfter].map((time) => time.getTime()),
        [x509.validFrom, x509.validTo].map((text) => Date.parse(text)),
        "the times are those that OpenSSL reads",
      );
      const serial = x509.serialNumber;
      // OpenSSL shows a negative number with a sign.
      if (!serial.startsWith("-"))
        mustEqual(
          BigInt(`0x${info.serialNumber}`),
          BigInt(`0x${serial}`),
          "the serial number is the one that OpenSSL reads",
        );
      must(info.basicConstraints?.ca === true || !x509.ca, "an authority for OpenSSL is one");
      const { chain, problems } = inspectChain(read.value, {
        now: new Date("2027-01-01T00:00:00Z"),
        trustAnchors: readCertificates(ROOT_DER),
      });
      must(chain.length === 1, "a chain of one certificate has one");
      return `${info.keyType}/${problems.map(({ code }) => code).join()}`;
    },
  },
  {
    name: "x509-pem",
    parsers: ["x509/encode/pem.ts", "x509/inspect/read-certificates.ts"],
    says: "reads every block, or refuses the file",
    structure: "pem",
    seeds: [LEAF_PEM, `text\n${LEAF_PEM}${ROOT_PEM}`, LEAF_PEM.slice(0, -30), "-----BEGIN CERTIFICATE REQUEST-----"],
    words: ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "=", "-"],
    check(input, probe) {
      const text = utf8(input);
      const blocks = pemBlocks("CERTIFICATE", text);
      const read = probe.attempt(() => readCertificates(text), {
        mayShow: "the cause is an error about DER, which is public",
      });
      if (blocks === undefined) return read.outcome;
      mustEqual(blocks.length, text.split("-----BEGIN CERTIFICATE-----").length - 1, "each block is read");
      mustEqual(
        pemBlocks("CERTIFICATE", blocks.map((der) => pemOf("CERTIFICATE", der)).join(""))?.map(hex),
        blocks.map(hex),
        "what is written is the same DER",
      );
      return `${Math.min(3, blocks.length)}/${read.outcome}`;
    },
  },
  {
    name: "x509-name",
    parsers: [
      "x509/names/parse-name.ts",
      "x509/names/read-name.ts",
      "x509/names/format-name.ts",
      "x509/names/encode-name.ts",
      "x509/names/attribute-types.ts",
    ],
    says: "a name that was read, encoded and written as text is the same name",
    structure: "text",
    seeds: [
      "CN=op.example,O=Example,C=DE",
      "CN=a\\,b\\20c+OU=\\C3\\A9",
      "2.5.4.3=x",
      "1.2.3.4=#0c0161",
      " cn = a , o = b ",
      "DC=example,DC=com",
      "serialNumber=1\\ ",
      "/CN=a",
    ],
    words: [
      "CN=",
      "emailAddress=",
      "\\",
      "\\2c",
      "#0c",
      "+",
      ",",
      "\\ ",
      '"',
      "2.25.340282366920938463463374607431768211455=",
      "STREET=",
    ],
    longest: 8192,
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => readName("subject", text), { mayShow: "the type of an attribute is shown" });
      if (!read.ok) return read.outcome;
      const der = encodeName(read.value);
      const written = formatName(der);
      const again = probe.attempt(() => readName("subject", written));
      must(again.ok, "the text that is written can be read");
      mustEqual(hex(encodeName(again.value)), hex(der), "the text that is written is the same name");
      must(isOneDerElement(der) && derElements(der)?.length === 1, "the encoding is DER for both readers");
      return `${Math.min(3, read.value.length)}/${read.value.some((attributes) => attributes.length > 1)}`;
    },
  },
  {
    name: "x509-alt-names",
    parsers: ["x509/names/alt-names.ts", "x509/names/dns-name.ts", "x509/names/ip-address.ts", "x509/encode/oid.ts"],
    says: "accepts names that a URL keeps as they are, and encodes them in DER",
    structure: "json",
    seeds: [
      [
        { dns: "*.op.example" },
        { uri: "https://op.example:443/a?b#c" },
        { email: "ops@op.example" },
        { ip: "::1" },
        { registeredId: "1.2.3" },
      ],
      [{ dns: "xn--bcher-kva.example" }],
      [{ uri: "urn:a:b" }],
    ].map((names) => JSON.stringify(names)),
    words: ["dns", "uri", "ip", "https://[::1]/", "1.2.3.4", "xn--", "..", "@", "%zz", "é", "2.25.1"],
    check(input, probe) {
      const names = jsonOr(input);
      const read = probe.attempt(() => readAltNames("subjectAltNames", names), {
        mayShow: "the A-label of a name is shown",
      });
      if (!read.ok) return read.outcome;
      if (read.value === undefined) return "none";
      must(isOneDerElement(read.value), "the encoding is DER");
      for (const name of names as readonly Record<string, string>[]) {
        const [[kind, text] = ["", ""]] = Object.entries(name);
        if (kind === "dns")
          mustEqual(
            new URL(`https://${text.replace(/^\*\./, "a.")}`).hostname,
            text.replace(/^\*\./, "a.").toLowerCase(),
            "a URL keeps the name",
          );
        if (kind === "uri") must(URL.canParse(text) && new URL(text).username === "", "a URI is one for other parsers");
        if (kind === "ip") must(isIP(text) !== 0, "an address is what Node takes for one");
      }
      return `${(names as readonly unknown[]).length > 1}`;
    },
  },
  {
    name: "x509-values",
    parsers: ["x509/encode/oid.ts", "x509/names/ip-address.ts", "x509/names/dns-name.ts"],
    says: "object identifiers, addresses and domain names have one form",
    structure: "text",
    seeds: [
      "1.2.840.10045",
      "2.25.{83f1a8}",
      "0.40",
      "127.0.0.1",
      "2001:db8::1",
      "::ffff:1.2.3.4",
      "op.example",
      "xn--a",
      "A-.b",
    ],
    words: [".", "::", "xn--", "0", "39", "40", "2.999", "{ff}", "-"],
    check(input, probe) {
      const text = utf8(input);
      const oid = probe.attempt(() => readOid("oid", text));
      mustEqual(oid.ok, isOid(text), "both readers of identifiers agree");
      if (oid.ok) mustEqual(dottedOid(text), text, "an identifier in dots stays as it is");
      const bytes = ipBytes(text);
      mustEqual(bytes !== undefined, isIP(text) !== 0 && !text.includes("%"), "an address is what Node takes for one");
      if (bytes !== undefined)
        mustEqual([...(ipBytes(ipText(bytes) ?? "") ?? [])], [...bytes], "an address that is written is the same");
      if (domainNameFault(text) === undefined)
        mustEqual(new URL(`https://${text}`).hostname, text.toLowerCase(), "a URL keeps the name");
      return `${oid.ok}/${bytes?.length}/${domainNameFault(text) === undefined}`;
    },
  },
  {
    name: "x509-der",
    parsers: ["x509/encode/der.ts", "core/certificate/der.ts"],
    says: "what the strict reader of x509 takes for one element, the reader of core takes for one too",
    structure: "der",
    seeds: [EC_SPKI, LEAF_DER, Uint8Array.of(0x30, 0x81, 0x80), Uint8Array.of(0x24, 0x80, 0, 0)],
    check(input) {
      const isOne = isOneDerElement(input);
      const elements = derElements(input);
      must(!isOne || elements?.length === 1, "one element for both");
      if (elements?.length === 1 && (input[0] ?? 0) !== 0 && ((input[0] ?? 0) & 0x20) === 0 && input.length <= 65_536)
        must(isOne, "a primitive element is one for both");
      return `${isOne}/${elements?.length ?? "none"}`;
    },
  },
];
