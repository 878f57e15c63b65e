import { describe, expect, it } from "vitest";
import { KeySetError } from "@signpost/verify";
import { type DocumentRequest, requestDocument } from "../../src/http/document-request.ts";

const url = new URL("https://op.example/jwks");
const ETAG = '"one"';

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Answer = { readonly status: 200 | 304; readonly etag?: string } | KeySetError;

/** Sends one answer after the other, and notes what was asked. */
async function exchange(
  request: Partial<DocumentRequest>,
  ...answers: readonly Answer[]
): Promise<{ sent: readonly Sent[]; outcome: unknown }> {
  const sent: Sent[] = [];
  const send: Parameters<typeof requestDocument>[0] = async (method, headers) => {
    const answer = answers[sent.length];
    sent.push({ method, headers: { ...headers } });
    if (answer === undefined) throw new Error("no more answers");
    if (answer instanceof KeySetError) throw answer;
    const { status, etag } = answer;
    return { status, headers: etag === undefined ? {} : { etag }, body: new Uint8Array() } as never;
  };
  const full = { url, etag: ETAG, pastCaches: false, revalidates: true, revalidateWith: "get", ...request } as const;
  const outcome = await requestDocument(send, full).then(
    ({ unchanged }) => (unchanged ? "unchanged" : "new"),
    (error: unknown) => error,
  );
  return { sent, outcome };
}

const refused = (status: number, more: object = {}): KeySetError =>
  new KeySetError("http_status", `status ${status}`, { status, ...more });
const get = (headers: Sent["headers"] = {}): Sent => ({ method: "GET", headers });
const head = (headers: Sent["headers"]): Sent => ({ method: "HEAD", headers });
const PAST_CACHES = { "cache-control": "no-cache" };
const FROM_SERVER = { "cache-control": "max-age=0" };
const CONDITION = { "if-none-match": ETAG, "cache-control": "max-age=0" };
const OK = { status: 200 } as const;
const NOT_MODIFIED = { status: 304, etag: ETAG } as const;

describe("each request for a document has the headers that it needs", () => {
  it.each<[string, Partial<DocumentRequest>, readonly Answer[], readonly Sent[], string]>([
    ["the first one has none", { revalidates: false }, [OK], [get()], "new"],
    ["one past caches says so, without a condition", { pastCaches: true }, [OK], [get(PAST_CACHES)], "new"],
    ["a revalidation without a tag", { etag: undefined }, [OK], [get(FROM_SERVER)], "new"],
    ["a revalidation with a tag", {}, [NOT_MODIFIED], [get(CONDITION)], "unchanged"],
    ["a revalidation that brings a document", {}, [OK], [get(CONDITION)], "new"],
    [
      "a 304 about another document is not believed",
      {},
      [{ status: 304, etag: '"two"' }, OK],
      [get(CONDITION), get(PAST_CACHES)],
      "new",
    ],
    ["a 304 without a tag is about this document", {}, [{ status: 304 }], [get(CONDITION)], "unchanged"],
    ["a weak tag is the same tag", {}, [{ status: 304, etag: `W/${ETAG}` }], [get(CONDITION)], "unchanged"],
    ["a HEAD that says the same", { revalidateWith: "head" }, [{ ...OK, etag: ETAG }], [head(CONDITION)], "unchanged"],
    ["a HEAD with 304", { revalidateWith: "head" }, [NOT_MODIFIED], [head(CONDITION)], "unchanged"],
    [
      "a HEAD that says otherwise is followed by a GET",
      { revalidateWith: "head" },
      [{ ...OK, etag: '"two"' }, OK],
      [head(CONDITION), get(FROM_SERVER)],
      "new",
    ],
    [
      "a 304 to a HEAD about another document is followed by a GET",
      { revalidateWith: "head" },
      [{ status: 304, etag: '"two"' }, OK],
      [head(CONDITION), get(FROM_SERVER)],
      "new",
    ],
    [
      "a 304 without a condition is bypassed once",
      { etag: undefined },
      [{ status: 304 }, OK],
      [get(FROM_SERVER), get(PAST_CACHES)],
      "new",
    ],
  ])("%s", async (_what, request, answers, expected, outcome) => {
    expect(await exchange(request, ...answers)).toEqual({ sent: expected, outcome });
  });
});

// The stored tag of a document is what `etagOf` read in its answer.
describe("a HEAD is compared by its tag", () => {
  const asked = async (etag: string, answered: string | undefined): Promise<unknown> =>
    (
      await exchange(
        { etag, revalidateWith: "head" },
        { ...OK, ...(answered === undefined ? {} : { etag: answered }) },
        OK,
      )
    ).outcome;

  it.each(['"one"', 'W/"one"', 'w/"one"', '""', "bare", "a/b=c", '"with space"'])("which may be %s", async (etag) => {
    expect(await asked(etag, etag)).toBe("unchanged");
    expect(await asked(etag, `${etag}, ${etag}`)).toBe("unchanged");
    expect(await asked(etag, `${etag}x`)).toBe("new");
    expect(await asked(etag, undefined)).toBe("new");
  });

  it.each(["*", '"one", "two"', '"one', 'one"', "two words", " ", "", 'W/one"', '"one"x', 'x"one"', "a,b", "a*"])(
    "which %j is none of",
    async (etag) => {
      expect(await asked(etag, etag)).toBe("new");
    },
  );
});

describe("a 304 is about this document", () => {
  it.each([
    ['"one"', '"one"', "unchanged"],
    ['W/"one"', '"one"', "unchanged"],
    ['"one"', 'W/"one"', "unchanged"],
    ['"one"', '"one", "one"', "unchanged"],
    ["W/", "", "unchanged"],
    ['"one"', 'w/"one"', "new"],
    ['"one"', '"One"', "new"],
    ['"one"', "one", "new"],
  ])("stored %s, answered %s: %s", async (etag, answered, outcome) => {
    expect((await exchange({ etag }, { status: 304, etag: answered }, OK)).outcome).toBe(outcome);
  });
});

describe("what a proxy refuses is asked in another way", () => {
  it.each([400, 403, 405, 408, 500, 502, 503, 504])("a HEAD with %d by a GET with the condition", async (status) => {
    const { sent, outcome } = await exchange({ revalidateWith: "head" }, refused(status), NOT_MODIFIED);
    expect(sent).toEqual([head(CONDITION), get(CONDITION)]);
    expect(outcome).toBe("unchanged");
  });

  it.each([400, 403, 408, 412, 500, 502])("a condition with %d by a GET without it", async (status) => {
    const { sent, outcome } = await exchange({}, refused(status), OK);
    expect(sent).toEqual([get(CONDITION), get(FROM_SERVER)]);
    expect(outcome).toBe("new");
  });

  it.each([429, 503, 504])("a condition with %d by nothing: it is down", async (status) => {
    const error = refused(status);
    expect(await exchange({}, error, OK)).toEqual({ sent: [get(CONDITION)], outcome: error });
  });

  it.each([429])("a HEAD with %d by nothing", async (status) => {
    const error = refused(status);
    const { sent, outcome } = await exchange({ revalidateWith: "head" }, error, OK);
    expect([sent.length, outcome]).toEqual([1, error]);
  });

  it("nothing is asked again that said when to come back", async () => {
    const later = refused(500, { retryAfterMs: 1000 });
    expect(await exchange({}, later, OK)).toMatchObject({ sent: [get(CONDITION)], outcome: later });
    expect((await exchange({ revalidateWith: "head" }, later, OK)).sent).toEqual([head(CONDITION)]);
  });

  it("a connection that the server closes or breaks is asked again, and one that cannot be opened is not", async () => {
    const failed = (code: string): KeySetError =>
      new KeySetError("fetch_failed", "failed", { cause: Object.assign(new Error(code), { code }) });
    expect((await exchange({}, failed("UND_ERR_SOCKET"), OK)).sent).toHaveLength(2);
    expect((await exchange({}, failed("ECONNREFUSED"), OK)).sent).toHaveLength(1);
    expect((await exchange({ revalidateWith: "head" }, failed("ECONNREFUSED"), OK)).sent).toHaveLength(2);
  });

  it("a fault of another kind is passed on", async () => {
    const fault = new TypeError("a fault");
    const send = async (): Promise<never> => Promise.reject(fault);
    for (const revalidateWith of ["get", "head"] as const) {
      const request = { url, etag: ETAG, pastCaches: false, revalidates: true, revalidateWith };
      await expect(requestDocument(send, request)).rejects.toBe(fault);
    }
  });
});

it("a server that never answers with a document is an error of its status", async () => {
  const { sent, outcome } = await exchange({ pastCaches: true }, { status: 304 });
  expect(sent).toEqual([get(PAST_CACHES)]);
  expect(outcome).toMatchObject({
    code: "http_status",
    status: 304,
    message: expect.stringContaining("status 304 to a request without a condition"),
  });
});
