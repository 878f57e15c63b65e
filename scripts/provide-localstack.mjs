import { join } from "node:path";
import { providePythonTools } from "./backends/python-tools.mjs";
import { ROOT } from "./lib/repository.mjs";

/**
 * LocalStack's KMS without Docker. 4.8.1 is the last version of LocalStack that runs on Python 3.11 and needs no account.
 */
export function provideLocalstack() {
  return providePythonTools({
    what: "LocalStack 4.8",
    folder: "localstack",
    requirements: join(ROOT, "test/backends/localstack-requirements.txt"),
    pythons: ["python3.11", "python3", "python"],
    test: "sys.version_info[:2] == (3, 11)",
    needs: "Python 3.11",
  });
}
