// A cluster in which the primary and every worker sign: each process initializes the module for itself.
import cluster from "node:cluster";
import { openPkcs11Signer } from "@signpost/pkcs11";

const options = JSON.parse(process.argv[2] ?? "{}");
const signer = await openPkcs11Signer(options);

async function signSome() {
  const signatures = await Promise.all(Array.from({ length: 50 }, () => signer.sign(new Uint8Array(32).fill(9))));
  return signatures.length;
}

if (cluster.isPrimary) {
  cluster.setupPrimary({ args: process.argv.slice(2) });
  const workers = [cluster.fork(), cluster.fork()];
  const exits = workers.map(
    (worker) => new Promise((resolve) => worker.once("exit", (code, signal) => resolve(code ?? signal))),
  );
  const made = await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
  const own = await signSome();
  await signer.close();
  process.stdout.write(JSON.stringify({ made, own, codes: await Promise.all(exits) }));
} else {
  process.send?.(await signSome());
  await signer.close();
  process.disconnect();
}
