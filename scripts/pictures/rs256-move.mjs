import { lanesPicture } from "./lanes.mjs";

/** The steps of "Moving from RS256" in docs/rotation.md. Distances are not to scale. */
export function rs256MovePicture() {
  return lanesPicture({
    title:
      "The move from RS256. Step 1: clients are registered for ES256. Step 2: Signpost serves both keys. Step 3, at least 4 hours later: Signpost signs with ES256. Step 4, after the last RS256 token has expired: the RS256 key leaves.",
    from: 0,
    to: 10,
    height: 400,
    moments: [
      { at: 1, label: ["1. Register", "clients for", "ES256"] },
      { at: 3, label: ["2. Signpost", "serves /jwks,", "at least 4 h", "before step 3"] },
      { at: 6, label: ["3. signJwt", "signs"] },
      { at: 8.4, label: ["4. The last", "RS256 token", "has expired"] },
    ],
    lanes: [
      {
        name: "JWKS",
        width: 84,
        stretches: [
          { until: 3, color: "old", words: ["rs-2024"] },
          { until: 8.4, color: "new", words: ["es-2026-01", "rs-2024"] },
          { until: 10, color: "new", words: ["es-2026-01"] },
        ],
      },
      {
        name: "discovery",
        width: 78,
        stretches: [
          { until: 3, color: "old", words: ["RS256"] },
          { until: 8.4, color: "new", words: ["ES256", "RS256"] },
          { until: 10, color: "new", words: ["ES256"] },
        ],
      },
      {
        name: "signs",
        width: 78,
        stretches: [
          { until: 6, color: "old", words: ["RS256", "(old code)"] },
          { until: 10, color: "new", words: ["ES256", "(signJwt)"] },
        ],
      },
    ],
    notes: ["Between 2 and 4 you can go back: both keys are", "published, so the old code can sign again."],
  });
}
