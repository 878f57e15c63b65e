import { ConfigurationError, SignerError } from "../errors.ts";
import { withinDeadline, type Deadline } from "./within-deadline.ts";

/** How much of the time for a connection may pass until the files are read. */
const READ_SHARE = 1 / 2;

/** Makes one connection, as a connector of undici does. */
export type ConnectLike<Target, Callback extends (error: Error, socket: null) => void> = (
  target: Target,
  callback: Callback,
) => void;

/** Files that connections are made with, such as certificates to trust. */
export interface ConnectionFiles<Content, Connect> {
  /** Reads the files. The content must be plain data. */
  readonly read: () => Promise<Content>;
  /** Makes a connector. Throws `ConfigurationError` for content that no connection can be made with. */
  readonly build: (content: Content) => Connect;
  /** When the first reading must end. A file system may hang. */
  readonly opening: Deadline;
  /** How long a connection may take. Milliseconds. */
  readonly timeout: number;
}

/**
 * Makes connections with the current content of files, which an operator may replace. While their mount hangs, with the last
 * content: their absence would say something about them, and a hang does not.
 *
 * Rejects with the error of the first reading, with `ConfigurationError` if no connection can be made with what it found, and
 * with `timeout` or `aborted` if it does not end in time.
 *
 * @example
 * ```ts
 * import { createFileConnector, type ConnectLike } from "@signpost/core/adapter";
 *
 * type Connect = ConnectLike<object, (error: Error, socket: null) => void>;
 * declare function buildConnector(options: object): Connect; // of undici
 * declare function readFiles(): Promise<{ ca: string }>;
 *
 * const connect = await createFileConnector({
 *   read: readFiles,
 *   build: (content) => buildConnector({ timeout: 1000, ...content }),
 *   opening: { deadlineMs: 5000 },
 *   timeout: 1000,
 * });
 * ```
 */
export async function createFileConnector<Content, Target, Callback extends (error: Error, socket: null) => void>({
  read,
  build,
  opening,
  timeout,
}: ConnectionFiles<Content, ConnectLike<Target, Callback>>): Promise<ConnectLike<Target, Callback>> {
  const first = await withinDeadline(read, opening);
  let known = { text: JSON.stringify(first), connect: build(first) };
  const connectorOf = (content: Content): ConnectLike<Target, Callback> => {
    const text = JSON.stringify(content);
    if (known.text !== text) known = { text, connect: build(content) };
    return known.connect;
  };
  const deadlineMs = Math.ceil(timeout * READ_SHARE);
  const current = async (): Promise<ConnectLike<Target, Callback>> => {
    try {
      return connectorOf(await withinDeadline(read, { deadlineMs }));
    } catch (error) {
      if (error instanceof SignerError && error.code === "timeout") return known.connect;
      throw error;
    }
  };
  return (target, callback) => {
    const fail = (error: unknown): void =>
      callback(error instanceof ConfigurationError ? unreadable(error) : (error as Error), null);
    current()
      .then((connect) => connect(target, callback))
      .catch(fail);
  };
}

/** An operator may be replacing the files, so the next attempt may find them. */
function unreadable(cause: ConfigurationError): SignerError {
  return new SignerError("unavailable", `no connection can be made: ${cause.message}`, { cause });
}
