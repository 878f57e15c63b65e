import { join } from "node:path";
import { ROOT } from "../lib/repository.mjs";
import { providePythonTools } from "./python-tools.mjs";

/** zizmor: a program in a Python wheel. */
export function provideZizmor() {
  return providePythonTools({
    what: "zizmor",
    folder: "zizmor",
    requirements: join(ROOT, "test/backends/zizmor-requirements.txt"),
    pythons: ["python3", "python"],
    test: "sys.version_info >= (3, 10)",
    needs: "Python 3.10 or newer",
  });
}
