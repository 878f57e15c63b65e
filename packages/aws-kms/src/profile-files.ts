import type { CredentialProvider } from "./credential-source.ts";

/** Whether the last question for credentials in this process failed. */
let failed = false;
/** The provider that reads the files again. */
let reader: object | undefined;

/**
 * The SDK reads the profile files once per process, and remembers even that one was missing. So a question reads them
 * again if the one before it failed, or if KMS refused the credentials. Only one does so at a time, because the files may
 * be on a file system that hangs, and a hanging read holds a thread of Node.
 *
 * `make` gets a function that says whether the provider must ignore what the SDK remembers.
 */
export function withFreshFiles<Identity>(
  make: (ignoresCache: () => boolean) => CredentialProvider<Identity>,
): CredentialProvider<Identity> {
  const self = {};
  const provide = make(() => reader === self);
  return async (options) => {
    const reads = reader === undefined && (failed || options?.["forceRefresh"] === true);
    if (reads) reader = self;
    try {
      const identity = await provide(options);
      failed = false;
      return identity;
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      if (reads) reader = undefined;
    }
  };
}
