import { describe, expect, test } from "vitest";
import type { AzureKeyVaultApi, AzureKeyVaultListInput } from "@signpost/azure-key-vault";
import { createKidReader } from "../src/kid.ts";
import { listVersions } from "../src/list-versions.ts";
import { parseVault } from "../src/vault.ts";

const vault = parseVault("vault", "https://op.vault.azure.net");
const { signal } = new AbortController();
const LIST = "https://op.vault.azure.net/keys/op/versions";
const never = (): Promise<never> => Promise.reject(new Error("not reached"));

const nameOf = (index: number): string => String(index).padStart(32, "0");
const item = (index: number, created: unknown = index): object => ({
  kid: `https://op.vault.azure.net/keys/op/${nameOf(index)}`,
  attributes: { enabled: true, created },
});

/** Lists, and tells what was asked. */
async function list(
  page: (input: AzureKeyVaultListInput, number: number) => unknown,
): Promise<{ readonly names: readonly string[]; readonly asked: readonly unknown[] }> {
  const asked: unknown[] = [];
  const api: AzureKeyVaultApi = {
    getKey: never,
    sign: never,
    listKeyVersions: async (input, options) => {
      asked.push([input, options]);
      return page(input, asked.length);
    },
  };
  const name = { vault, key: "op", keyVersion: undefined };
  const place = { api, name, kids: createKidReader(vault, "op"), trouble: () => undefined };
  const found = await listVersions(place, { timeoutMs: 1000, signal });
  return { names: found.map(({ keyVersion }) => keyVersion), asked };
}

/** So many pages, each with one version. */
const pages =
  (count: number) =>
  (_input: unknown, number: number): object => ({
    value: [item(number)],
    nextLink: number < count ? `${LIST}?page=${number}` : null,
  });

describe("a list of versions", () => {
  test("is asked for page by page, by the link of the page before", async () => {
    const { names, asked } = await list(pages(3));
    expect(names).toEqual([1, 2, 3].map(nameOf));
    expect(asked).toEqual([
      [{ key: "op", nextLink: undefined }, { signal }],
      [{ key: "op", nextLink: `${LIST}?page=1` }, { signal }],
      [{ key: "op", nextLink: `${LIST}?page=2` }, { signal }],
    ]);
  });

  test("may have 100 pages, and no more", async () => {
    expect((await list(pages(100))).names).toHaveLength(100);
    await expect(list(pages(101))).rejects.toMatchObject({
      code: "integrity",
      message: "list the versions of op at https://op.vault.azure.net: there are more than 100 pages",
    });
  });

  test("may have 2500 versions, and no more, in all pages together", async () => {
    const many = (length: number, from = 0): object[] => Array.from({ length }, (_, index) => item(from + index));
    expect((await list(() => ({ value: many(2500) }))).names).toHaveLength(2500);
    await expect(list(() => ({ value: many(2501) }))).rejects.toMatchObject({
      code: "integrity",
      message: "list the versions of op at https://op.vault.azure.net: there are more than 2500 versions",
    });
    const inTwo = list((_input, number) => ({
      value: many(1251, (number - 1) * 1251),
      nextLink: number === 1 ? `${LIST}?page=1` : "",
    }));
    await expect(inTwo).rejects.toMatchObject({ code: "integrity" });
  });

  test.each([[undefined], [null], [""]])("ends with a nextLink of %j", async (nextLink) => {
    expect((await list(() => ({ value: [item(1)], nextLink }))).asked).toHaveLength(1);
  });

  test.each([
    [LIST.toUpperCase()],
    ["https://op.vault.azure.net/KEYS/OP/Versions?x=1"],
    ["https://op.vault.azure.net:443/keys/op/versions"],
  ])("goes on at %s, which is the same place", async (nextLink) => {
    const { asked } = await list((_input, number) => ({ value: [], nextLink: number === 1 ? nextLink : null }));
    expect(asked[1]).toEqual([{ key: "op", nextLink }, { signal }]);
  });

  test.each([[`${LIST}/x`], [`x${LIST}`], [LIST.replace("/keys/op", "/keys/opx")], [[LIST]], [7], ["not a URL"]])(
    "does not go on at %j",
    async (nextLink) => {
      await expect(list(() => ({ value: [item(1)], nextLink }))).rejects.toMatchObject({
        code: "integrity",
        message: "list the versions of op at https://op.vault.azure.net: nextLink leads elsewhere",
      });
    },
  );

  test("does not go on at the page that it has just read, even an empty one", async () => {
    await expect(list(() => ({ value: [], nextLink: LIST }))).rejects.toMatchObject({ code: "integrity" });
  });

  test("has the oldest first, and those of one second in the order of their names", async () => {
    const value = [item(3, 5), item(1, 9), item(4, 5), item(2, 5)];
    expect((await list(() => ({ value }))).names).toEqual([2, 3, 4, 1].map(nameOf));
  });

  test("takes what a later page says of a version", async () => {
    const { names } = await list((_input, number) => ({
      value: number === 1 ? [item(1, 1), item(2, 2)] : [item(1, 3)],
      nextLink: number === 1 ? LIST : null,
    }));
    expect(names).toEqual([2, 1].map(nameOf));
  });

  test.each<[answer: unknown, text: string]>([
    [{ value: {} }, "value"],
    [undefined, "value"],
    [{ value: [null] }, "kid"],
    [{ value: [{ kid: "", attributes: {} }] }, "kid"],
    [{ value: [{ ...item(1), attributes: {} }] }, "enabled"],
    [{ value: [item(1, null)] }, "created"],
  ])("is refused with %j", async (answer, member) => {
    await expect(list(() => answer)).rejects.toMatchObject({
      code: "integrity",
      message: `list the versions of op at https://op.vault.azure.net was answered without ${member}`,
    });
  });
});
