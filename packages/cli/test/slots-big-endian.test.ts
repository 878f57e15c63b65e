import { expect, test, vi } from "vitest";
import { findSlots, type SlotCalls } from "../src/backends/pkcs11/slots.ts";
import type { TokenUri } from "../src/backends/pkcs11/uri.ts";

// As on s390x.
vi.mock("node:os", async (original) => ({ ...(await original<typeof import("node:os")>()), endianness: () => "BE" }));

const TOKEN = { label: "op", model: "HSM", manufacturerID: "Example", serialNumber: "7", flags: 0x400 };

test.each<[bytes: string, slotId: string]>([
  ["0000000000000001", "1"],
  ["2000000000000001", "2305843009213693953"],
  ["00000002", "2"],
])("a slot with the bytes %s has the number %s on a machine that begins with the highest byte", (bytes, slotId) => {
  const slot = Buffer.from(bytes, "hex");
  const module = { C_GetSlotList: () => [slot], C_GetTokenInfo: () => TOKEN } as Partial<SlotCalls> as SlotCalls;
  expect(findSlots(module, { slotId } as TokenUri).matching).toEqual([[slot, TOKEN]]);
});
