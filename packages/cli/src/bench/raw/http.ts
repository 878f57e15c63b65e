import type { RestAnswer } from "../../backends/rest.ts";
import type { Side } from "../side.ts";

class RefusedError extends Error {
  readonly code: string;
  constructor(status: number) {
    super("the server refused");
    this.code = `http ${status}`;
  }
}

/** HTTP calls over connections that stay open. */
export function httpSide(send: () => Promise<RestAnswer>, close: () => void): Side {
  return {
    name: "bare HTTP",
    sign: async () => {
      const { status } = await send();
      if (status < 200 || status >= 300) throw new RefusedError(status);
    },
    codeOf: (error) => String(Reflect.get(Object(error), "code") ?? "error"),
    close: async () => close(),
  };
}
