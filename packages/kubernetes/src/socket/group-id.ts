import { ConfigurationError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";

const MAX_BYTES = 4_194_304;

/** The number of a group. A name is looked up in `/etc/group`: Node has no call for it. */
export async function groupId(group: string | number, file: string = "/etc/group"): Promise<number> {
  if (typeof group === "number") return group;
  const text = Buffer.from(await readRegularFile("socket.group", file, MAX_BYTES)).toString("utf8");
  for (const line of text.split("\n")) {
    const [name, , id] = line.split(":");
    if (name === group && id !== undefined && /^\d+$/.test(id)) return Number(id);
  }
  throw new ConfigurationError(
    "socket.group",
    `expected a group of ${file}, got another name; use the number of the group`,
  );
}
