import { checkClaims, readClaims, subjectOf } from "../../../packages/kubernetes/src/signer/claims.ts";
import { readJson } from "../../../packages/kubernetes/src/config/json.ts";
import { readConfig, readSchedule } from "../../../packages/kubernetes/src/config/read-config.ts";
import { withSecrets } from "../../../packages/kubernetes/src/backends/secrets.ts";
import { ADAPTERS, keyUriScheme } from "../../../packages/kubernetes/src/backends/adapters.ts";
import { readSocketOptions } from "../../../packages/kubernetes/src/socket/socket-options.ts";
import { textField } from "../../../packages/kubernetes/src/wire/fields.ts";
import { decodeSignRequest, isEmptyRequest } from "../../../packages/kubernetes/src/wire/messages.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PUBLIC, jsonOr, utf8 } from "./material.ts";

const RULES = {
  issuer: "https://kubernetes.default.svc",
  maxTokenLifetimeSeconds: 3600,
  time: Date.parse("2027-01-15T08:00:00Z"),
};
const CLAIMS = {
  iss: RULES.issuer,
  sub: "system:serviceaccount:a:b",
  jti: "1",
  iat: 1_800_000_000,
  exp: 1_800_003_600,
};
const claimsOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const CONFIG = {
  issuer: RULES.issuer,
  socket: { path: "/run/signpost/signer.sock", mode: "0660", group: "kube" },
  maxTokenLifetimeSeconds: 3600,
  schedule: {
    entries: [
      {
        keyId: "a",
        signer: "awskms:///alias/sa",
        announcedFrom: "2026-01-01T00:00:00Z",
        activeFrom: "2026-01-01T00:00:00Z",
      },
      { publicKey: EC_PUBLIC, announcedFrom: "2025-01-01T00:00:00Z", activeFrom: "2025-01-01T00:00:00Z" },
    ],
  },
  legacyKeys: [{ publicKeyFile: "sa.pub", excludeFromDiscovery: true }],
  adapters: { pkcs11: { module: "/m", pin: "env:PIN" }, vault: { auth: { method: "token", token: "file:t" } } },
  admin: { host: "127.0.0.1", port: 0 },
  audit: "-",
};
/** A byte order mark is allowed. */
const withoutMark = (input: Uint8Array): Uint8Array =>
  Buffer.from(input.subarray(0, 3)).toString("hex") === "efbbbf" ? input.subarray(3) : input;

const SHOWS_PLACE = "the configuration is the operator's own: names of its members are shown";

export const KUBERNETES: readonly Target[] = [
  {
    name: "kube-messages",
    parsers: ["kubernetes/wire/fields.ts", "kubernetes/wire/messages.ts"],
    says: "never throws, skips fields of a newer client, and the last field with claims counts",
    structure: "bytes",
    seeds: [
      textField(1, claimsOf(CLAIMS)),
      Buffer.concat([textField(1, "a"), textField(2, "b"), textField(1, "c")]),
      Uint8Array.from([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x0a, 1, 0x61]),
      Uint8Array.from([0x19, 0, 0, 0, 0, 0, 0, 0, 0, 0x1d, 0, 0, 0, 0]),
      Uint8Array.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]),
    ],
    check(input) {
      const claims = decodeSignRequest(input);
      const isMessage = isEmptyRequest(input);
      must(claims === undefined || isMessage, "what has claims is a message");
      const more = Buffer.concat([input, textField(1, "more"), textField(15, "newer")]);
      must(!isMessage || decodeSignRequest(more) === "more", "the last field counts, and a newer one is skipped");
      return claims === undefined ? (isMessage ? "a message without claims" : "no message") : "claims";
    },
  },
  {
    name: "kube-claims",
    parsers: ["kubernetes/signer/claims.ts", "kubernetes/repeated-name.ts"],
    says: "takes only a JSON object in canonical base64url, byte for byte, without a name twice, and shows no claim",
    structure: "text",
    seeds: [
      claimsOf(CLAIMS),
      claimsOf({ ...CLAIMS, exp: CLAIMS.iat + 3601 }),
      claimsOf({ ...CLAIMS, iss: "other" }),
      claimsOf([]),
      "e30",
      "e30=",
      Buffer.from('{"iss":"a","iat":1.5,"exp":"2"}').toString("base64url"),
      Buffer.from('{"iss":"a","\\u0069ss":"b"}').toString("base64url"),
      claimsOf({ ...CLAIMS, iat: CLAIMS.iat + 86_401, exp: CLAIMS.iat + 86_402 }),
    ],
    words: ["=", "-", "_", "/", "+", "e30", claimsOf({ iat: 1, exp: 2 })],
    check(input, probe) {
      const text = utf8(input);
      const read = probe.attempt(() => readClaims(text));
      if (!read.ok) return read.outcome;
      must(Buffer.from(read.value.payload).toString("base64url") === text, "the payload is the claims, byte for byte");
      mustEqual(read.value.members, JSON.parse(utf8(read.value.payload)), "the members are those of the payload");
      const { jti, sub } = subjectOf(read.value);
      must(
        [jti, sub].every((each) => each === undefined || typeof each === "string"),
        "an audit gets text or nothing",
      );
      const checked = probe.attempt(() => checkClaims(read.value, RULES));
      const { iss, iat, exp } = read.value.members as Record<string, number | string | undefined>;
      const lifetime = Number(exp) - Number(iat);
      must(
        !checked.ok ||
          (iss === RULES.issuer && lifetime > 0 && lifetime <= 3600 && Number(iat) <= RULES.time / 1000 + 86_400),
        "only short claims of the issuer pass, and none of the future",
      );
      return checked.outcome;
    },
  },
  {
    name: "kube-config",
    parsers: [
      "kubernetes/config/json.ts",
      "kubernetes/config/read-config.ts",
      "kubernetes/backends/secrets.ts",
      "kubernetes/backends/adapters.ts",
      "kubernetes/socket/socket-options.ts",
    ],
    says: "accepts what JSON.parse accepts, without a name twice, with members and schemes that it knows",
    structure: "json",
    seeds: [
      JSON.stringify(CONFIG),
      JSON.stringify(CONFIG.schedule),
      '{"a":1,"\\u0061":2}',
      '{"__proto__":1}',
      "[]",
      "\ufeff{}",
    ],
    words: ['"socket":', '"systemd":true', '"@a"', '"env:"', '"pkcs11:"', '"a":', "\\u00"],
    check(input, probe) {
      const json = probe.attempt(() => readJson("config.json", input), { mayShow: SHOWS_PLACE });
      if (!json.ok) return json.outcome;
      mustEqual(json.value, jsonOr(withoutMark(input)), "the value is that of JSON.parse");
      const rules = { mayShow: SHOWS_PLACE };
      const config = probe.attempt(() => readConfig(json.value), rules);
      const schedule = probe.attempt(() => readSchedule(json.value, ""), rules);
      if (schedule.ok) {
        for (const { signer } of schedule.value.entries) {
          must(
            signer === undefined || Object.hasOwn(ADAPTERS, keyUriScheme("signer", signer)),
            "the schemes are known",
          );
        }
      }
      if (!config.ok) return `${config.outcome}, ${schedule.outcome}`;
      const secrets = probe.attempt(() => withSecrets("adapters", config.value.adapters ?? {}, {}), rules);
      return `${probe.attempt(() => readSocketOptions(config.value.socket), rules).outcome}, ${secrets.outcome}`;
    },
  },
];
