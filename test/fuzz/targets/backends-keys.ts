import { createPrivateKey } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalSigner } from "@signpost/local";
import { parseKeyUri as parseLocalUri } from "../../../packages/local/src/uri.ts";
import { utf8 as utf8Label, describeLabel } from "../../../packages/pkcs11/src/cryptoki/label.ts";
import { readUlong } from "../../../packages/pkcs11/src/cryptoki/objects.ts";
import { readPinFile } from "../../../packages/pkcs11/src/request/pin-file.ts";
import { pinFor } from "../../../packages/pkcs11/src/request/pin-source.ts";
import { pinSource, readPin } from "../../../packages/pkcs11/src/request/pin.ts";
import { publicKeyOf } from "../../../packages/pkcs11/src/request/public-key.ts";
import { slotIdFrom } from "../../../packages/pkcs11/src/request/slot-id.ts";
import { formatKeyUri, formatRequestUri, parsePkcs11Uri } from "../../../packages/pkcs11/src/request/uri.ts";
import { trimPadding } from "../../../packages/pkcs11/src/worker/token-list.ts";
import { readSecretFile } from "../../../packages/vault-transit/src/secret-file.ts";
import { requireUsable } from "../../../packages/vault-transit/src/tls-files.ts";
import { readTokenUri } from "../../../packages/cli/src/backends/pkcs11/uri.ts";
import { variable } from "../../../packages/cli/src/keys/secret-reference.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { LEAF_DER, LEAF_PEM } from "./certificates.ts";
import { EC_PEM, EC_PRIVATE, EC_PUBLIC, EC_SPKI, jsonOr, latin1, pemOf, utf8 } from "./material.ts";

const PKCS8_PEM = pemOf(
  "PRIVATE KEY",
  createPrivateKey({ key: EC_PRIVATE, format: "jwk" }).export({ type: "pkcs8", format: "der" }),
);
const POINT = EC_SPKI.subarray(26);

/** A file with these bytes, while `read` runs. */
export async function inFile<Value>(bytes: Uint8Array, read: (path: string) => Promise<Value>): Promise<Value> {
  const folder = mkdtempSync(join(tmpdir(), "signpost-fuzz-"));
  const path = join(folder, "secret");
  try {
    writeFileSync(path, bytes);
    return await read(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const BACKENDS_KEYS: readonly Target[] = [
  {
    name: "local-key-uri",
    parsers: ["local/uri.ts", "core/signer/scheme.ts"],
    says: "takes what follows the scheme as it is",
    structure: "text",
    seeds: ["local:key.pem", "LOCAL:/run/key.pem", "local:", "local:#abc", "file:key.pem"],
    words: ["local:", ":", "//", "%2f"],
    check(input, probe) {
      const uri = utf8(input);
      const read = probe.attempt(() => parseLocalUri(uri));
      if (read.ok)
        mustEqual([uri.slice(0, 6).toLowerCase(), uri.slice(6)], ["local:", read.value], "the path is not decoded");
      return read.outcome;
    },
  },
  {
    name: "local-private-key",
    parsers: ["local/private-key.ts"],
    says: "opens only whole private keys on P-256, and shows nothing of any other",
    structure: "pem",
    seeds: [
      PKCS8_PEM,
      EC_PEM,
      JSON.stringify(EC_PRIVATE),
      JSON.stringify({ ...EC_PRIVATE, d: EC_PRIVATE.x }),
      LEAF_PEM,
    ],
    words: ["-----BEGIN EC PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----", '"d":', "DEK-Info: AES"],
    share: 0.3,
    async check(input, probe) {
      const privateKey = jsonOr(input);
      const opened = await probe.settle(() => openLocalSigner({ privateKey: privateKey as string, policy: false }));
      if (!opened.ok) return opened.outcome;
      if (privateKey !== undefined) must(opened.value.uri.startsWith("local:#"), "the URI has no part of the key");
      await opened.value.close();
      return typeof privateKey;
    },
  },
  {
    name: "pkcs11-uri",
    parsers: [
      "pkcs11/request/uri.ts",
      "pkcs11/request/uri-values.ts",
      "pkcs11/request/misplaced-pin.ts",
      "pkcs11/request/slot-id.ts",
      "cli/backends/pkcs11/uri.ts",
    ],
    says: "reads RFC 7512 strictly, shows no value, and the command reads the same parts",
    structure: "text",
    seeds: [
      "pkcs11:token=op;object=sig-2026;type=private?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/run/pin",
      "pkcs11:serial=01;id=%01%ff;slot-id=18446744073709551615;library-version=2.6",
      "PKCS11:model=SoftHSM%20v2;manufacturer=a%3bb?module-name=softhsm&pin-value=1234",
      "pkcs11:",
      "pkcs11:object=a?module-path=/a?b|c",
    ],
    words: [
      "token=",
      "object=",
      "id=",
      ";",
      "&",
      "?",
      "pin-value=",
      "pin-source=",
      "%3D",
      "%3b",
      "%ff",
      "slot-id=",
      "type=cert",
      "module-name=",
    ],
    check(input, probe) {
      const uri = utf8(input);
      const outcomes = (["private", "cert"] as const).map((type) => probe.attempt(() => parsePkcs11Uri(uri, type)));
      const [read] = outcomes;
      if (read?.ok !== true) return outcomes.map(({ outcome }) => outcome).join("/");
      const { selector, query, modulePath, moduleName } = read.value;
      const hex = (bytes: Uint8Array | undefined): string | undefined =>
        bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");
      const { object, id, slotId, libraryVersion: _version, ...texts } = readTokenUri(uri);
      mustEqual(
        { object, id, slotId, modulePath: texts.modulePath, moduleName: texts.moduleName },
        { object: hex(query.object), id: hex(query.id), slotId: selector.slotId, modulePath, moduleName },
        "the command reads the same parts",
      );
      mustEqual(
        [texts.token, texts.serial, texts.model, texts.slotDescription],
        [selector.token, selector.serial, selector.model, selector.slotDescription],
        "the command reads the same texts",
      );
      const token = { label: selector.token ?? "", serial: selector.serial ?? "" };
      const written = formatKeyUri(modulePath ?? "/m", {
        token,
        label: query.object ?? new Uint8Array(),
        id: query.id ?? new Uint8Array(),
      });
      const again = parsePkcs11Uri(written);
      mustEqual(
        [
          again.selector.token ?? "",
          again.selector.serial ?? "",
          hex(again.query.object) ?? "",
          hex(again.query.id) ?? "",
          again.modulePath,
        ],
        [token.label, token.serial, hex(query.object) ?? "", hex(query.id) ?? "", modulePath ?? "/m"],
        "the URI that is written means the same key",
      );
      const shown = formatRequestUri({ module: modulePath ?? "/m", selector, query });
      must(
        !/pin-(?:value|source)=/.test(shown) && parsePkcs11Uri(shown).pinValue === undefined,
        "the URI for an error has no PIN",
      );
      return `${query.id === undefined}/${modulePath === undefined}/${read.value.pinSource === undefined}`;
    },
  },
  {
    name: "pkcs11-pin-source",
    parsers: ["pkcs11/request/pin-source.ts", "pkcs11/request/pin.ts"],
    says: "takes a file: URI or nothing, and never shows a PIN",
    structure: "text",
    seeds: [
      "file:/run/secrets/pin",
      "file:///run/pin",
      "file://localhost/pin",
      "|/bin/sh",
      "env:PIN",
      "file:pin",
      "FILE:/a%20b",
    ],
    words: ["file:", "//", "%2f", "%00", "?", "#", "\\", "localhost", "|"],
    check(input, probe) {
      const source = utf8(input);
      const fixed = probe.attempt(() => pinSource(source));
      const allowed = probe.attempt(() => pinFor({ pinSource: source } as never, {}));
      const value = probe.attempt(() => pinFor({ pinValue: source } as never, { allowPinValue: true }));
      mustEqual(value.ok, fixed.ok, "a PIN in a URI is checked like the option");
      if (fixed.ok)
        must(
          !fixed.value.name.includes(source) || source.length < 3 || "the option pin".includes(source),
          "the name of a source has no PIN",
        );
      if (allowed.ok) must(/^file:/i.test(source), "only files are read");
      return `${fixed.outcome}/${allowed.outcome}`;
    },
  },
  {
    name: "secret-files",
    parsers: ["pkcs11/request/pin-file.ts", "pkcs11/request/pin.ts", "vault-transit/secret-file.ts"],
    says: "removes one line end, refuses what no token takes, and shows nothing of it",
    structure: "bytes",
    seeds: [
      "1234\n",
      "\ufeff1234\r\n",
      "hvs.abcdef",
      "12 34",
      new Uint8Array(5000).fill(0x31),
      Uint8Array.of(0xff, 0xfe),
      "\n",
    ],
    share: 0.05,
    async check(input, probe) {
      return inFile(input, async (path) => {
        const pin = await probe.settle(async () => readPin(pinSource(() => readPinFile(path))));
        const token = await probe.settle(() => readSecretFile("auth.path", path));
        if (pin.ok)
          must(
            utf8(input)
              .replace(/^\ufeff/, "")
              .replace(/\r?\n$/, "") === pin.value,
            "a PIN is the text without its mark and line end",
          );
        if (token.ok)
          mustEqual(token.value, utf8(input).trim(), "a token is the text without its mark and white space around it");
        return `${pin.outcome}/${token.outcome}`;
      });
    },
  },
  {
    name: "pkcs11-objects",
    parsers: ["pkcs11/request/public-key.ts", "core/encoding/ec-point.ts"],
    says: "takes a public key only from objects that agree",
    structure: "der",
    seeds: [Uint8Array.from([4, 65, ...POINT]), EC_SPKI, LEAF_DER],
    check(input, probe) {
      const empty = {
        label: input,
        id: new Uint8Array(),
        alwaysAuthenticate: false,
        ecPoints: [],
        publicKeyInfos: [],
        certificates: [],
        untold: undefined,
      };
      const rules = { mayShow: "the label of the key is shown" };
      const found = (["ecPoints", "publicKeyInfos", "certificates"] as const).map((name) =>
        probe.attempt(() => publicKeyOf({ ...empty, [name]: [input, POINT] }), rules),
      );
      for (const each of found)
        if (each.ok && each.value !== undefined)
          must(each.value.kty === "EC" && each.value.x.length === 43, "a key is on P-256");
      const both = probe.attempt(() => publicKeyOf({ ...empty, ecPoints: [POINT], publicKeyInfos: [input] }), rules);
      if (both.ok) mustEqual(both.value?.x, EC_PUBLIC.x, "a good object decides, unless another one differs");
      return found.map(({ outcome }) => outcome).join("/");
    },
  },
  {
    name: "pkcs11-values",
    parsers: [
      "pkcs11/cryptoki/objects.ts",
      "pkcs11/cryptoki/label.ts",
      "pkcs11/worker/token-list.ts",
      "pkcs11/request/slot-id.ts",
    ],
    says: "reads numbers exactly, and prints labels that are not text",
    structure: "bytes",
    seeds: [
      Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0x80),
      Uint8Array.of(0xff, 0xff, 0xff, 0xff),
      "SoftHSM slot ID 0x1          ",
      "18446744073709551615",
      Uint8Array.of(0xc3, 0x28),
    ],
    longest: 1024,
    check(input) {
      const number = readUlong(Buffer.from(input));
      mustEqual(number !== undefined, input.length === 4 || input.length === 8, "a CK_ULONG has 4 or 8 bytes");
      if (number !== undefined) mustEqual(slotIdFrom(number), number.toString(), "each CK_ULONG can be a slot");
      const slot = slotIdFrom(latin1(input));
      if (slot !== undefined)
        must(BigInt(slot) === BigInt(latin1(input)) && BigInt(slot) < 2n ** 64n, "a slot number in text is exact");
      const trimmed = trimPadding(latin1(input));
      must(latin1(input).startsWith(trimmed) && !/[\0 ]$/.test(trimmed), "only padding is removed");
      must(
        utf8Label(input) === undefined || Buffer.from(utf8Label(input) ?? "").equals(input),
        "a label is text if it is UTF-8",
      );
      must(
        !/[\p{Cc}]/u.test(
          describeLabel(input)
            .replaceAll("\u007f", "")
            .replaceAll(/[\u0080-\u009f]/g, ""),
        ),
        "what is printed has no control characters",
      );
      return `${number === undefined}/${slot === undefined}/${utf8Label(input) === undefined}`;
    },
  },
  {
    name: "tls-files",
    parsers: ["vault-transit/tls-files.ts"],
    says: "accepts PEM that TLS accepts, and shows nothing of a private key",
    structure: "pem",
    seeds: [LEAF_PEM, PKCS8_PEM, `${LEAF_PEM}${PKCS8_PEM}`, EC_PEM],
    words: ["-----BEGIN CERTIFICATE-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----"],
    share: 0.1,
    longest: 65_536,
    check(input, probe) {
      const text = latin1(input);
      const found = [{ ca: text }, { cert: text }, { cert: LEAF_PEM, key: text }].map((material) =>
        probe.attempt(() => requireUsable(material)),
      );
      return found.map(({ outcome }) => outcome.slice(0, 60)).join("/");
    },
  },
  {
    name: "secret-variable",
    parsers: ["cli/keys/secret-reference.ts"],
    says: "shows the name of a variable, and nothing that may be a secret in its place",
    structure: "text",
    seeds: ["VAULT_TOKEN", "lower", "A B", ""],
    check(input, probe) {
      return probe.attempt(() => variable(utf8(input), {})).outcome;
    },
  },
];
