// pkcs11js by hand, in a separate process whose libuv pool has as many threads as there are sessions, which must be set
// before a process starts. Takes the number of signatures and reports the milliseconds that each took.
import { openPkcs11Signer } from "@signpost/pkcs11";
import { concurrently } from "./harness.ts";
import { type KeyPlace, openBinding } from "./pkcs11-peers.ts";

const [place = "", sessions = ""] = process.argv.slice(2);
const where = JSON.parse(place) as KeyPlace;
// Initializes the module and logs in.
const { label: object, ...rest } = where;
const signer = await openPkcs11Signer({ ...rest, object, sessions: 1 });
const peer = openBinding(where, "async", Number(sessions));
const run = concurrently(Number(sessions), peer.sign);

const answer = async (operations: number): Promise<void> => {
  const startedAt = performance.now();
  await run(operations);
  process.send?.((performance.now() - startedAt) / operations);
};
process.on("message", (operations: number) => void answer(operations));
process.once("disconnect", () => void peer.close().then(() => signer.close()));
process.send?.("ready");
