import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildGoProgram } from "../lib/go-program.mjs";
import { ROOT } from "../lib/repository.mjs";

const MODULE = "k8s.io/kubernetes";

/**
 * Builds kube-apiserver from the source of a Kubernetes release. It takes its own version from the linker, and refuses to start
 * without one.
 */
export async function provideKubeApiserver() {
  const goMod = readFileSync(join(ROOT, "test/backends/go/kube-apiserver/go.mod"), "utf8");
  const version = new RegExp(`${MODULE} (v[0-9.]+)`).exec(goMod)?.[1];
  if (version === undefined) throw new Error(`test/backends/go/kube-apiserver/go.mod requires no ${MODULE}`);
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  await buildGoProgram("kube-apiserver", `${MODULE}/cmd/kube-apiserver`, flags);
}
