// A worker thread of a user's own, with a signer of its own.
import { parentPort, workerData } from "node:worker_threads";
import { openPkcs11Signer } from "@signpost/pkcs11";

const signer = await openPkcs11Signer(workerData.options);
parentPort?.on("message", async (command) => {
  if (command === "close") {
    await signer.close();
    parentPort?.postMessage({ closed: true });
    parentPort?.close();
    return;
  }
  if (command === "leave") process.exit();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () =>
      signer.sign(new Uint8Array(32).fill(3)).then(
        () => "signed",
        (error) => error.code,
      ),
    ),
  );
  parentPort?.postMessage({ outcomes, notes: signer.health().notes });
});
parentPort?.postMessage({ open: true });
