import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openbaoProgram } from "./openbao.ts";
import { assertLoopbackOnly, freePort, startProcess } from "./process.ts";

export interface OpenbaoAgentOptions {
  /** Address of the server. */
  readonly address: string;
  readonly roleId: string;
  readonly secretId: string;
}

export interface OpenbaoAgent extends AsyncDisposable {
  /** Where the agent listens. It adds its token to requests that have none. */
  readonly address: string;
  /** Where the agent writes its token. */
  readonly sinkFile: string;
}

/** Starts an OpenBao agent that logs in with AppRole, and refuses requests without the header `X-Vault-Request`. */
export async function startOpenbaoAgent({ address, roleId, secretId }: OpenbaoAgentOptions): Promise<OpenbaoAgent> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-openbao-agent-"));
  const port = await freePort();
  const sinkFile = join(directory, "sink");
  await writeFile(join(directory, "role-id"), roleId);
  await writeFile(join(directory, "secret-id"), secretId);
  await writeFile(
    join(directory, "agent.hcl"),
    `
vault { address = "${address}" }
auto_auth {
  method "approle" {
    config = {
      role_id_file_path = "${join(directory, "role-id")}"
      secret_id_file_path = "${join(directory, "secret-id")}"
      remove_secret_id_file_after_reading = false
    }
  }
  sink "file" { config = { path = "${sinkFile}" } }
}
api_proxy { use_auto_auth_token = true }
listener "tcp" {
  address = "127.0.0.1:${port}"
  tls_disable = true
  require_request_header = true
}
`,
  );
  const child = startProcess({
    command: await openbaoProgram(),
    args: ["agent", `-config=${join(directory, "agent.hcl")}`],
    cwd: directory,
  });
  const stop = async (): Promise<void> => {
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const hasToken = async (): Promise<boolean> => (await readFile(sinkFile, "utf8").catch(() => "")) !== "";
    await child.waitUntil("the first token", hasToken, 20_000);
    await assertLoopbackOnly(child.pid, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `http://127.0.0.1:${port}`, sinkFile, [Symbol.asyncDispose]: stop };
}
