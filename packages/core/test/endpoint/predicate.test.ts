import { describe, expect, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createRotationSchedule,
  type JwksEndpointOptions,
  type RotationSchedule,
} from "@signpost/core";
import { GOLDEN_ETAG, goldenSet, thrownBy } from "../support/key-fixtures.ts";
import { atHour, clock, someSigner } from "../support/schedules.ts";

const LONG = "public, max-age=3600, stale-while-revalidate=3600";
const ROTATION = "public, max-age=300, must-revalidate";

function endpointWith(jwksRotationActive: unknown, onError?: (error: unknown) => void) {
  const predicate = jwksRotationActive as JwksEndpointOptions["jwksRotationActive"];
  return createJwksEndpoint({
    issuer: "https://op.example",
    keys: goldenSet(),
    jwksRotationActive: predicate,
    onError,
  });
}

type Endpoint = ReturnType<typeof endpointWith>;
const cacheControl = (endpoint: Endpoint, ...args: Parameters<Endpoint["respond"]>) =>
  endpoint.respond(...args).headers["Cache-Control"];

/** Answers in turn; the last one repeats. Errors are thrown. */
function answering(...answers: unknown[]): () => unknown {
  return () => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer instanceof Error) throw answer;
    return answer;
  };
}

describe("the predicate", () => {
  test.for([
    ["true", true, ROTATION],
    ["false", false, LONG],
    ["1", 1, LONG],
    ['"true"', "true", LONG],
    ["a Boolean object", Object(true), LONG],
    ["an object", {}, LONG],
    ["a function", () => true, LONG],
    ["nothing", undefined, LONG],
    ["null", null, LONG],
  ])("that returns %s", ([, answer, expected]) => {
    const onError = vi.fn<(error: unknown) => void>();
    expect(
      cacheControl(
        endpointWith(() => answer, onError),
        "GET",
      ),
    ).toBe(expected);
    expect(onError).not.toHaveBeenCalled();
  });

  test.for([undefined, null])("may be %s: long mode", (none) => {
    expect(cacheControl(endpointWith(none), "GET")).toBe(LONG);
  });

  test("given as undefined after an earlier one means none: last wins", () => {
    const earlier = { jwksRotationActive: () => true };
    const later = { jwksRotationActive: undefined };
    const options = { issuer: "https://op.example", keys: goldenSet() };
    expect(cacheControl(createJwksEndpoint({ ...options, ...earlier, ...later }), "GET")).toBe(LONG);
    expect(cacheControl(createJwksEndpoint({ ...options, ...later, ...earlier }), "GET")).toBe(ROTATION);
  });

  test("is taken when the endpoint is made: a later change of the options changes nothing", () => {
    const options: { -readonly [K in keyof JwksEndpointOptions]: JwksEndpointOptions[K] } = {
      issuer: "https://op.example",
      keys: goldenSet(),
      jwksRotationActive: () => true,
    };
    const endpoint = createJwksEndpoint(options);
    options.jwksRotationActive = () => false;
    expect(cacheControl(endpoint, "GET")).toBe(ROTATION);
  });

  test("is asked on every GET and HEAD, 304 included, and on no other method", () => {
    const predicate = vi.fn<() => boolean>(() => true);
    const endpoint = endpointWith(predicate);
    const asked = (...args: Parameters<Endpoint["respond"]>) => {
      predicate.mockClear();
      endpoint.respond(...args);
      return predicate.mock.calls;
    };
    expect(asked("GET")).toEqual([[]]);
    expect(asked("HEAD")).toEqual([[]]);
    expect(asked("GET", GOLDEN_ETAG)).toEqual([[]]);
    expect(asked("HEAD", "*")).toEqual([[]]);
    for (const method of ["POST", "OPTIONS", "get", ""]) expect(asked(method)).toEqual([]);
  });

  test("moves the mode of 200 and 304 with each answer, and never the ETag", () => {
    const endpoint = endpointWith(answering(false, true, true, false));
    const responses = [undefined, undefined, GOLDEN_ETAG, "*"].map((value) => endpoint.respond("GET", value));
    expect(responses.map(({ status, headers }) => [status, headers["Cache-Control"], headers["ETag"]])).toEqual([
      [200, LONG, GOLDEN_ETAG],
      [200, ROTATION, GOLDEN_ETAG],
      [304, ROTATION, GOLDEN_ETAG],
      [304, LONG, GOLDEN_ETAG],
    ]);
  });

  test("that throws means long mode, and one report until it answers again", () => {
    const [first, second] = [new Error("first"), new Error("second")];
    const onError = vi.fn<(error: unknown) => void>();
    const endpoint = endpointWith(answering(first, first, true, second, second, second, false), onError);
    const modes = Array.from({ length: 7 }, () => cacheControl(endpoint, "GET"));
    expect(modes).toEqual([LONG, LONG, ROTATION, LONG, LONG, LONG, LONG]);
    expect(onError.mock.calls).toEqual([[first], [second]]);
  });

  test("that is async means long mode and one report: its promise would be truthy for ever", () => {
    const onError = vi.fn<(error: unknown) => void>();
    const endpoint = endpointWith(() => Promise.resolve(true), onError);
    expect([cacheControl(endpoint, "GET"), cacheControl(endpoint, "GET")]).toEqual([LONG, LONG]);
    expect(onError).toHaveBeenCalledTimes(1);
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ name: "ConfigurationError", argument: "jwksRotationActive" });
  });

  test("that rejects, each time, leaves no unhandled rejection", async () => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    const endpoint = endpointWith(() => Promise.reject(new Error("rejected")));
    for (let count = 0; count < 3; count += 1) endpoint.respond("GET");
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  // oxlint-disable-next-line unicorn/no-thenable -- these objects are the subject here
  const THEN = "then";
  const fail = () => {
    throw new Error("hostile");
  };
  test.for([
    ["a getter of then that throws", Object.defineProperty({}, THEN, { get: fail })],
    ["a then that throws", { [THEN]: fail }],
    ["a then that calls back at once", { [THEN]: (resolve: (value: boolean) => void) => resolve(true) }],
    ["a function with a then", Object.assign(() => true, { [THEN]: fail })],
  ])("that returns %s means long mode and a report", async ([, answer]) => {
    const onError = vi.fn<(error: unknown) => void>();
    expect(
      cacheControl(
        endpointWith(() => answer, onError),
        "GET",
      ),
    ).toBe(LONG);
    await new Promise((resolve) => setImmediate(resolve));
    expect(onError).toHaveBeenCalledTimes(1);
  });

  test.for([true, "always", 1, {}])("is refused at construction when it is %s", (predicate) => {
    const error = thrownBy(() => endpointWith(predicate));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "jwksRotationActive" });
  });
});

describe("the predicate of a schedule", () => {
  const { now, set: at } = clock(0);
  const schedule = createRotationSchedule(
    [
      { keyId: "a", signer: someSigner(), announcedFrom: atHour(0), activeFrom: atHour(0) },
      { keyId: "b", signer: someSigner(), announcedFrom: atHour(90), activeFrom: atHour(100) },
    ],
    { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, rotationWindowHours: 24, now },
  );
  const endpointOf = (keys: JwksEndpointOptions["keys"], more: Partial<JwksEndpointOptions> = {}) =>
    createJwksEndpoint({ issuer: "https://op.example", keys, ...more });
  const modes = (endpoint: Endpoint): (string | undefined)[] =>
    [50, 89.9, 90, 99.9, 100, 123.9, 124].map((hour) => {
      at(hour);
      return cacheControl(endpoint, "GET");
    });
  const OF_THE_SCHEDULE = [LONG, LONG, ROTATION, ROTATION, ROTATION, ROTATION, LONG];

  test("is the default of an endpoint that is created with only the schedule", () => {
    expect(modes(endpointOf(schedule))).toEqual(OF_THE_SCHEDULE);
  });

  test("holds for 304 and HEAD as well", () => {
    const endpoint = endpointOf(schedule);
    at(95);
    const etag = endpoint.respond("GET").headers["ETag"];
    expect([cacheControl(endpoint, "HEAD"), cacheControl(endpoint, "GET", etag)]).toEqual([ROTATION, ROTATION]);
    expect(endpoint.respond("GET", etag).status).toBe(304);
  });

  test("is meant by an option that is given as undefined", () => {
    expect(modes(endpointOf(schedule, { jwksRotationActive: undefined }))).toEqual(OF_THE_SCHEDULE);
  });

  test.for<[string, JwksEndpointOptions["jwksRotationActive"], string]>([
    ["null, which means none", null, LONG],
    ["one that says no", () => false, LONG],
    ["one that says yes", () => true, ROTATION],
  ])("is replaced by %s, and is then not asked", ([, jwksRotationActive, mode]) => {
    const watched = vi.fn<() => boolean>(schedule.jwksRotationActive);
    const endpoint = endpointOf({ ...schedule, jwksRotationActive: watched }, { jwksRotationActive });
    expect(new Set(modes(endpoint))).toEqual(new Set([mode]));
    expect(watched).not.toHaveBeenCalled();
  });

  test("does not come with only the schedule's function", () => {
    expect(new Set(modes(endpointOf(schedule.keySet)))).toEqual(new Set([LONG]));
  });

  test("that throws means long mode and one report", () => {
    const [error, onError] = [new Error("the clock is away"), vi.fn<(error: unknown) => void>()];
    const failing: RotationSchedule = {
      ...schedule,
      jwksRotationActive: () => {
        throw error;
      },
    };
    expect(new Set(modes(endpointOf(failing, { onError })))).toEqual(new Set([LONG]));
    expect(onError.mock.calls).toEqual([[error]]);
  });

  test("does not allow the options that need a list of entries", () => {
    const error = thrownBy(() => endpointOf(schedule, { encryptionKeyset: [] }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "encryptionKeyset" });
  });
});
