import { describe, expect, test } from "vitest";
import { ConfigurationError, emergencyRotation, type ScheduledEntry } from "@signpost/core";
import { answersAt, atHour, ClassEntry, someSigner } from "../support/schedules.ts";

const [a, b, c, fresh] = [someSigner(), someSigner(), someSigner(), someSigner()];

const ENTRIES: readonly ScheduledEntry[] = [
  { keyId: "a", signer: a, announcedFrom: atHour(0), activeFrom: atHour(0) },
  { keyId: "b", signer: b, announcedFrom: atHour(90), activeFrom: atHour(100) },
  { keyId: "c", signer: c, announcedFrom: atHour(190), activeFrom: atHour(200) },
];
describe("emergencyRotation", () => {
  test("of the active key lets the replacement sign immediately, and the revoked key is gone", () => {
    const { entries, breaks } = emergencyRotation(ENTRIES, {
      revokedKeyId: "b",
      at: atHour(150),
      replacement: { keyId: "fresh", signer: fresh },
    });
    expect(answersAt(entries, 150)).toEqual({ published: ["fresh active"], withdrawn: ["a"], rotation: true });
    expect(breaks).toEqual([expect.stringContaining("kid b"), expect.stringContaining("kid fresh: it signs before")]);
    expect(breaks[1]).toContain(atHour(154).toISOString());
  });

  test("leaves the rest of the schedule as it was", () => {
    const options = { revokedKeyId: "b", at: atHour(150), replacement: { keyId: "fresh", signer: fresh } };
    const { entries } = emergencyRotation(ENTRIES, options);
    expect(answersAt(entries, 195).published).toEqual(["fresh active", "c announced"]);
    expect(answersAt(entries, 200).published).toEqual(["c active", "fresh retiring"]);
  });

  test("gives the replacement the revoked key's place, and says that it is published from the emergency on", () => {
    const { entries } = emergencyRotation(ENTRIES, {
      revokedKeyId: "b",
      at: atHour(150),
      replacement: { keyId: "fresh", signer: fresh },
    });
    const moments = { announcedFrom: atHour(150), activeFrom: atHour(100), emergencyAt: atHour(150) };
    expect(entries.find(({ keyId }) => keyId === "fresh")).toEqual({ keyId: "fresh", signer: fresh, ...moments });
  });

  test("takes entries that are instances of a class", () => {
    const entries = ENTRIES.map((entry) => new ClassEntry(entry));
    const next = emergencyRotation(entries, { revokedKeyId: "b", at: atHour(150) });
    expect(answersAt(next.entries, 150).published).toEqual(["c active"]);
    const replacement = new ClassEntry({
      keyId: "fresh",
      signer: fresh,
      announcedFrom: atHour(0),
      activeFrom: atHour(0),
    });
    const replaced = emergencyRotation(entries, { revokedKeyId: "b", at: atHour(150), replacement });
    expect(answersAt(replaced.entries, 150).published).toEqual(["fresh active"]);
  });

  test("does not bring an older key back, even on a replica whose clock is behind", () => {
    const options = { revokedKeyId: "b", at: atHour(150), replacement: { keyId: "fresh", signer: fresh } };
    const { entries } = emergencyRotation(ENTRIES, options);
    expect(answersAt(entries, 149.9).published).toEqual(["fresh active"]);
  });

  test("of the active key without a replacement activates the next entry", () => {
    const { entries, breaks } = emergencyRotation(ENTRIES, { revokedKeyId: "b", at: atHour(150) });
    expect(answersAt(entries, 150)).toEqual({ published: ["c active"], withdrawn: ["a"], rotation: true });
    expect(breaks).toHaveLength(2);
  });

  test("breaks nothing but the revoked key's tokens when the next entry was announced long enough", () => {
    const { entries, breaks } = emergencyRotation(ENTRIES, { revokedKeyId: "b", at: atHour(195) });
    expect(answersAt(entries, 195).published).toEqual(["c active"]);
    expect(breaks).toEqual([expect.stringContaining("kid b")]);
  });

  test("of a retiring key removes it immediately, with short caching", () => {
    const { entries, breaks } = emergencyRotation(ENTRIES, { revokedKeyId: "a", at: atHour(100.5) });
    expect(answersAt(entries, 100.5)).toEqual({ published: ["b active"], withdrawn: [], rotation: true });
    expect(breaks).toEqual([expect.stringContaining("kid a")]);
  });

  test("of a withdrawn key ends its hints", () => {
    const { entries } = emergencyRotation(ENTRIES, { revokedKeyId: "a", at: atHour(150) });
    expect(answersAt(entries, 150).withdrawn).toEqual([]);
  });

  test("of a key between two others does not lengthen the life of the one before it", () => {
    const { entries } = emergencyRotation(ENTRIES, { revokedKeyId: "b", at: atHour(200.5) });
    expect(answersAt(entries, 200.5)).toEqual({ published: ["c active"], withdrawn: ["a"], rotation: true });
  });

  test("of an announced key leaves the active one signing", () => {
    const { entries } = emergencyRotation(ENTRIES, { revokedKeyId: "c", at: atHour(195) });
    expect(answersAt(entries, 195).published).toEqual(["b active"]);
    expect(answersAt(entries, 300).published).toEqual(["b active"]);
  });

  test("does not change its arguments", () => {
    const before = structuredClone(ENTRIES.map(({ announcedFrom, activeFrom }) => ({ announcedFrom, activeFrom })));
    emergencyRotation(ENTRIES, { revokedKeyId: "b", at: atHour(150) });
    expect(ENTRIES.map(({ announcedFrom, activeFrom }) => ({ announcedFrom, activeFrom }))).toEqual(before);
  });

  test.each<[string, Parameters<typeof emergencyRotation>[1], string]>([
    ["an unknown kid", { revokedKeyId: "x", at: atHour(150) }, "revokedKeyId"],
    ["no moment", { revokedKeyId: "b", at: "yesterday" }, "at"],
    ["the last key without a replacement", { revokedKeyId: "c", at: atHour(250) }, "replacement"],
    [
      "a replacement for a key that does not sign",
      { revokedKeyId: "c", at: atHour(150), replacement: { signer: fresh } },
      "replacement",
    ],
    [
      "a replacement at the very moment at which the next key becomes active",
      { revokedKeyId: "b", at: atHour(200), replacement: { signer: fresh } },
      "replacement",
    ],
    [
      "a replacement for a key that signs no more",
      { revokedKeyId: "a", at: atHour(150), replacement: { signer: fresh } },
      "replacement",
    ],
  ])("refuses %s", (_name, options, argument) => {
    const refused = () => emergencyRotation(ENTRIES, options);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(expect.objectContaining({ argument }));
  });
});
