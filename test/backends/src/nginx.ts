import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { faketimePreload } from "./faketime.ts";
import { assertLoopbackOnly, freePort, startProcess } from "./process.ts";

/** nginx directives by the block that contains them. */
export interface NginxConf {
  readonly http?: string | undefined;
  /** The one server that listens. Replicas are the upstream `op`: `proxy_pass http://op;`. */
  readonly server: string;
}

export interface NginxOptions {
  readonly conf: NginxConf;
  /** Loopback ports of the replicas, asked in turn. */
  readonly upstreams: readonly number[];
  /** Stops nginx's wall clock at this time (whole seconds) until `setClock`, by libfaketime. Default: the real clock. */
  readonly faketime?: Date | undefined;
}

export interface Nginx extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  readonly port: number;
  readonly pid: number;
  /** Moves the clock that `faketime` stopped. Resolves when nginx has seen it. */
  setClock(time: Date): Promise<void>;
  errorLog(): Promise<string>;
  /** Idempotent. */
  stop(): Promise<void>;
}

const EXAMPLE = fileURLToPath(new URL("../../../examples/nginx/", import.meta.url));

/** The files that we recommend, unchanged: included, not copied. `/jwks` is cached. */
export const RECOMMENDED_CONF: Required<NginxConf> = {
  http: `include ${join(EXAMPLE, "jwks-http.conf")};`,
  server: `include ${join(EXAMPLE, "jwks-server.conf")};`,
};

const READY_PATH = "/.signpost-ready";

/**
 * Starts Debian's nginx in a private folder on a free loopback port: one process, ended by its own pid, with an empty
 * cache.
 *
 * Its clock needs the `env` lines: nginx clears the environment, and libfaketime reads it at every call.
 */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-nginx-"));
  const port = await freePort();
  const clockFile = join(directory, "clock");
  const clock = options.faketime === undefined ? {} : await faketimeEnvironment(clockFile);
  const errorLog = join(directory, "error.log");
  if (options.faketime !== undefined) await writeClock(clockFile, options.faketime);
  await mkdir(join(directory, "temp"));
  await writeFile(join(directory, "nginx.conf"), configuration(options, port, Object.keys(clock)));

  const child = startProcess({
    command: existsSync("/usr/sbin/nginx") ? "/usr/sbin/nginx" : "nginx",
    args: ["-p", directory, "-c", "nginx.conf", "-e", "error.log"],
    env: clock,
  });
  const origin = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await child.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const seesClock = (time: Date | undefined) => async (): Promise<boolean> => {
    const date = await fetch(origin + READY_PATH).then(
      (response) => response.headers.get("date") ?? "",
      () => "",
    );
    return time === undefined ? date !== "" : Date.parse(date) === wholeSeconds(time) * 1000;
  };
  try {
    await child.waitUntil("answers, with its clock", seesClock(options.faketime), 20_000);
    await assertLoopbackOnly(child.pid, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    origin,
    port,
    pid: child.pid,
    setClock: async (time) => {
      if (options.faketime === undefined) throw new Error("nginx was started with the real clock");
      await writeClock(clockFile, time);
      await child.waitUntil("sees its clock moved", seesClock(time), 20_000);
    },
    errorLog: () => readFile(errorLog, "utf8"),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** One process, so that ending it leaves no worker running. */
function configuration({ conf, upstreams }: NginxOptions, port: number, env: readonly string[]): string {
  const user = process.getuid?.() === 0 ? [`user ${userInfo().username};`] : [];
  return [
    "daemon off;",
    "master_process off;",
    ...user,
    "pid nginx.pid;",
    ...env.map((name) => `env ${name};`),
    "events { worker_connections 256; }",
    "http {",
    "access_log off;",
    ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path temp/${name};`),
    // A failed replica is asked again immediately, regardless of the clock.
    `upstream op { ${upstreams.map((upstream) => `server 127.0.0.1:${upstream} max_fails=0;`).join(" ")} }`,
    conf.http ?? "",
    "server {",
    `listen 127.0.0.1:${port};`,
    `location = ${READY_PATH} { return 204; }`,
    conf.server,
    "}",
    "}",
    "",
  ].join("\n");
}

async function faketimeEnvironment(clockFile: string): Promise<Record<string, string>> {
  return {
    ...(await faketimePreload()),
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_FMT: "%s",
    FAKETIME_NO_CACHE: "1",
  };
}

/** Renamed at the end, so that a partial file is never read. */
async function writeClock(clockFile: string, time: Date): Promise<void> {
  await writeFile(`${clockFile}.new`, String(wholeSeconds(time)));
  await rename(`${clockFile}.new`, clockFile);
}

function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
