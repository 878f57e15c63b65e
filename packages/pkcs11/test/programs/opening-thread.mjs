// A worker thread of a user's own, which opens a signer with what it is told, and says what became of it.
import { parentPort } from "node:worker_threads";
import { forgetRefusedPins, openPkcs11Signer } from "@signpost/pkcs11";

let pin = "";
let signer;

const commands = {
  open: async ({ options }) => {
    pin = options.pin;
    signer = await openPkcs11Signer({ ...options, pin: () => pin });
    return "opened";
  },
  setPin: async (message) => {
    pin = message.pin;
  },
  notes: async () => signer.health().notes,
  close: async () => signer?.close(),
  forget: forgetRefusedPins,
};

parentPort?.on("message", async (message) => {
  if (message.name === "end") return parentPort?.close();
  const result = await commands[message.name](message).catch((error) => error.code);
  parentPort?.postMessage(result);
});
