// A user's worker thread that opens a signer.
import { parentPort, workerData } from "node:worker_threads";
import { openPkcs11Signer } from "@signpost/pkcs11";

let signer = await openPkcs11Signer(workerData.options);

function signSome() {
  const attempt = () =>
    signer.sign(new Uint8Array(32).fill(3)).then(
      () => "signed",
      (error) => error.code,
    );
  return Promise.all(Array.from({ length: 20 }, attempt));
}

parentPort?.on("message", async (command) => {
  if (command === "close") {
    await signer.close();
    parentPort?.postMessage({ closed: true });
    parentPort?.close();
    return;
  }
  if (command === "leave") process.exit();
  if (command === "churn") {
    const failures = [];
    for (let round = 0; round < 10; round += 1) {
      await signer.close();
      try {
        signer = await openPkcs11Signer(workerData.options);
      } catch (error) {
        failures.push(error.message);
      }
    }
    parentPort?.postMessage({ failures });
    return;
  }
  const outcomes = await signSome();
  if (command === "cycle") {
    for (let round = 0; round < 4; round += 1) {
      await signer.close();
      signer = await openPkcs11Signer(workerData.options);
      outcomes.push(...(await signSome()));
    }
  }
  parentPort?.postMessage({ outcomes, notes: signer.health().notes });
});
parentPort?.postMessage({ open: true });
