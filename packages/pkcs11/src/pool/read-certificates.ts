import type { TokenCertificates } from "../cryptoki/descriptions.ts";
import type { TokenRequest } from "../request/key-request.ts";
import { findToken } from "./find-token.ts";
import { openingError } from "./opening-error.ts";
import { releaseModule, retainModule } from "./registry.ts";
import { whileInitialized } from "./while-initialized.ts";

/** Reads the certificates of a token with a thread of this process. */
export async function readThreadCertificates(request: TokenRequest): Promise<TokenCertificates> {
  const { module: path, libraryParameters } = request;
  try {
    const module = await retainModule({ module: path, libraryParameters });
    try {
      const { life } = module;
      return await whileInitialized(life.freshStarts, async () => life.certificates(await findToken(module, request)));
    } finally {
      await releaseModule(module);
    }
  } catch (error) {
    throw openingError(error, request);
  }
}
