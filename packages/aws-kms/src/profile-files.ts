import type { CredentialProvider } from "./credential-source.ts";
import { isCredentialRefusal } from "./error-table.ts";

/** Whether the last question for credentials in this process failed. */
let failed = false;
/** The provider that reads the files again. */
let reader: object | undefined;

/**
 * The SDK reads the profile files once per process, and remembers even that one was missing. So a question reads them
 * again if the one before it failed, or if KMS or STS refused the credentials. Only one does so at a time, because the
 * files may be on a file system that hangs, and a hanging read holds a thread of Node.
 *
 * `make` gets a function that says whether the provider must ignore what the SDK remembers.
 */
export function withFreshFiles<Identity>(
  make: (ignoresCache: () => boolean) => CredentialProvider<Identity>,
): CredentialProvider<Identity> {
  const self = {};
  const provide = make(() => reader === self);
  const ask = async (options: Record<string, unknown> | undefined, isFresh: boolean): Promise<Identity> => {
    const reads = isFresh && reader === undefined;
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
  return async (options) => {
    const isFresh = failed || options?.["forceRefresh"] === true;
    try {
      return await ask(options, isFresh);
    } catch (error) {
      // STS refuses the credentials of a source profile after they were rotated.
      if (isFresh || !isCredentialRefusal(error)) throw error;
      return ask(options, true);
    }
  };
}
