import { expect, test, vi } from "vitest";

// Everything that is tested against the newest host, once more against the oldest that the peer range takes.
vi.mock("oidc-provider", () => import("oidc-provider-9.11"));

test("the host is the oldest of the peer range", async () => {
  expect((await import("oidc-provider")).Provider).toBe((await import("oidc-provider-9.11")).Provider);
});

await import("./before-spending.test.ts");
await import("./construction.test.ts");
await import("./failures.test.ts");
await import("./flows.test.ts");
await import("./hints.test.ts");
await import("./host-keys.test.ts");
await import("./hybrid-and-ciba.test.ts");
await import("./jwks.test.ts");
await import("./live-rotation.test.ts");
await import("./move-from-rs256.test.ts");
await import("./place.test.ts");
await import("./resource-servers.test.ts");
await import("./signing-key.test.ts");
await import("./verifying-places.test.ts");
