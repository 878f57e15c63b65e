/** How one call of kube-apiserver ended: what a log, an audit and metrics are made of. */
export interface CallReport {
  /** The version of the API that was asked for. */
  readonly version: "v1" | "v1alpha1";
  /** The call. */
  readonly method: "Sign" | "FetchKeys" | "Metadata";
  /** `ok`, or the code of the error, which is all that kube-apiserver is told. */
  readonly code: string;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** What was thrown. It never contains claims. Undefined for `ok` and `overloaded`. */
  readonly error?: unknown;
  /** Of a token: its id (RFC 7519 section 4.1.7). */
  readonly jti?: string | undefined;
  /** Of a token: the ServiceAccount. */
  readonly sub?: string | undefined;
  /** Of a token that was signed: the `kid` in its header. */
  readonly kid?: string | undefined;
}
