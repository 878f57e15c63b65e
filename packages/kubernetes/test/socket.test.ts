import { chmod, chown, lstat, mkdir, readFile, rename, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createKubernetesSigner, serveKubernetesSigner, type SocketOptions } from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { folderFault } from "../src/socket/folder.ts";
import { passedDescriptor } from "../src/socket/from-systemd.ts";
import { groupId } from "../src/socket/group-id.ts";
import { readSocketOptions, temporaryPath } from "../src/socket/socket-options.ts";
import { ISSUER } from "./support/claims.ts";
import { connectTo } from "./support/grpc-client.ts";
import { type PrivateFolder, privateFolder } from "./support/private-folder.ts";

// Who can open the socket, what it may replace, and what it leaves behind.

const signer = createKubernetesSigner({
  issuer: ISSUER,
  keys: [{ signer: await openLocalSigner() }],
  maxTokenLifetimeSeconds: 3600,
});
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function folder(): Promise<PrivateFolder> {
  const made = await privateFolder();
  cleanups.push(() => made[Symbol.asyncDispose]());
  return made;
}

async function serve(socket: SocketOptions): ReturnType<typeof serveKubernetesSigner> {
  const server = await serveKubernetesSigner({ signer, socket });
  cleanups.push(() => server.close(0));
  return server;
}

async function answers(path: string): Promise<boolean> {
  const client = connectTo(path);
  try {
    return (await client.metadata()).maxTokenExpirationSeconds === 3600;
  } finally {
    client.close();
  }
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
const ownGroup = process.getegid?.() ?? 0;

/** Works in a folder of its user without the rights of root. */
async function asPlainUser<Result>(folders: readonly string[], work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  for (const each of folders) await chown(each, PLAIN_USER, PLAIN_USER);
  process.seteuid?.(PLAIN_USER);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
const PLAIN_USER = 65_534;
/** What `sockaddr_un` holds. */
const MAX_BYTES = process.platform === "darwin" ? 103 : 107;

describe("permissions", () => {
  test("a group to which the folder cannot be given is an error of the option, and leaves no folder", async () => {
    const { path, at } = await folder();
    const socket = { path: at("new/signer.sock"), mode: "0660", group: 4_000_000_000 };
    const message = `socket.group: the folder ${at("new")} cannot be given to the group 4000000000 (EPERM)`;
    await asPlainUser([path], () => expect(serve(socket)).rejects.toThrow(message));
    await expect(stat(at("new"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a folder that the process cannot pass is an error of the option", async () => {
    const { path, at } = await folder();
    await mkdir(at("closed"), { mode: 0o600 });
    const message = `socket.path: what is at ${at("closed/signer.sock")} cannot be read (EACCES)`;
    await asPlainUser([path, at("closed")], () =>
      expect(serve({ path: at("closed/signer.sock") })).rejects.toThrow(message),
    );
  });

  test("the folder is made with mode 0700, the socket with 0600", async () => {
    const path = (await folder()).at("new/signer.sock");
    await serve({ path });
    expect(await modeOf(path)).toBe(0o600);
    expect(await modeOf(path.replace("/signer.sock", ""))).toBe(0o700);
    expect(await answers(path)).toBe(true);
  });

  test("with a group, that group may pass the folder and open the socket", async () => {
    const path = (await folder()).at("new/signer.sock");
    await serve({ path, mode: "0660", group: ownGroup });
    expect(await modeOf(path)).toBe(0o660);
    expect((await stat(path)).gid).toBe(ownGroup);
    expect(await modeOf(path.replace("/signer.sock", ""))).toBe(0o710);
  });

  test("a mode for a group without a group means the group of the process", async () => {
    const path = (await folder()).at("new/signer.sock");
    await serve({ path, mode: "0660" });
    expect(await modeOf(path.replace("/signer.sock", ""))).toBe(0o710);
    expect((await stat(path)).gid).toBe(ownGroup);
    expect(await answers(path)).toBe(true);
  });

  test.each([0o755, 0o711, 0o770, 0o707])("a folder of mode %o is refused", async (mode) => {
    const parent = (await folder()).at("open");
    await mkdir(parent);
    await chmod(parent, mode);
    await expect(serve({ path: `${parent}/signer.sock` })).rejects.toThrow(
      `socket.path: the folder ${parent} has the mode 0${mode.toString(8)}; expected 0700`,
    );
  });

  test.each([
    ["of another user", { uid: 7, mode: 0o700 }, undefined, /belongs to user 7; expected 1000 or root/],
    ["of root", { uid: 0, mode: 0o700 }, undefined, undefined],
    ["that the group may pass", { mode: 0o710, gid: 50 }, 50, undefined],
    ["that the group may read", { mode: 0o750, gid: 50 }, 50, undefined],
    ["that the group may write", { mode: 0o770, gid: 50 }, 50, /expected 0710 or 0750 and the group 50/],
    ["that another group may pass", { mode: 0o710, gid: 51 }, 50, /and the group 51; expected/],
    ["that a group may pass without the option", { mode: 0o710, gid: 50 }, undefined, /0710; expected 0700/],
    ["that is none", { isDirectory: () => false }, undefined, /no folder/],
  ])("a folder %s", (_what, members, group, fault) => {
    const stats = { uid: 1000, gid: 1000, mode: 0o700, isDirectory: () => true, ...members };
    const found = folderFault(stats, 1000, group);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(fault);
  });

  test("a group can be named", async () => {
    const line = (await readFile("/etc/group", "utf8"))
      .split("\n")
      .find((each) => each.split(":")[2] === String(ownGroup));
    const path = (await folder()).at("signer.sock");
    await chmod(path.replace("/signer.sock", ""), 0o710);
    await serve({ path, mode: "0660", group: line?.split(":")[0] });
    expect((await stat(path)).gid).toBe(ownGroup);
    await expect(serve({ path, mode: "0660", group: "no-such-group" })).rejects.toThrow(
      "socket.group: expected a group",
    );
  });

  test("a group is known by its name in /etc/group", async () => {
    const file = (await folder()).at("group");
    await writeFile(file, "root:x:0:\nbroken:x\nbroken:x:4242x:\nbroken:x:x1:\nkube:x:4242:a,b\nkube:x:1:\n");
    expect(await groupId("kube", file)).toBe(4242);
    expect(await groupId("root", file)).toBe(0);
    expect(await groupId(7, file)).toBe(7);
    for (const name of ["kub", "broken", "4242", ""]) {
      await expect(groupId(name, file)).rejects.toThrow(
        `socket.group: expected a group of ${file}, got another name; use the number of the group`,
      );
    }
  });
});

describe("what is there already", () => {
  test("a socket on which nothing listens is replaced", async () => {
    const path = (await folder()).at("signer.sock");
    await leaveSocketBehind(path);
    await serve({ path });
    expect(await answers(path)).toBe(true);
  });

  test("a socket on which a process listens is left alone", async () => {
    const path = (await folder()).at("signer.sock");
    await serve({ path });
    await expect(serve({ path })).rejects.toThrow("another process listens there; stop it first");
    expect(await answers(path)).toBe(true);
  });

  test("a file is left alone", async () => {
    const made = await folder();
    const path = await made.write("signer.sock", "text");
    await expect(serve({ path })).rejects.toThrow("is there and is no socket; remove it");
    expect(await readFile(path, "utf8")).toBe("text");
  });

  test("a link is left alone, wherever it leads", async () => {
    const made = await folder();
    const path = made.at("link.sock");
    await symlink(made.at("elsewhere"), path);
    await expect(serve({ path })).rejects.toThrow("is there and is no socket; remove it");
    expect((await lstat(path)).isSymbolicLink()).toBe(true);
  });

  test("a folder that is a link is refused", async () => {
    const made = await folder();
    await mkdir(made.at("real"), { mode: 0o700 });
    await symlink(made.at("real"), made.at("link"));
    await expect(serve({ path: made.at("link/signer.sock") })).rejects.toThrow("is a link or no folder");
  });

  test("a folder whose parent is missing is refused", async () => {
    const path = (await folder()).at("a/b/signer.sock");
    await expect(serve({ path })).rejects.toThrow("cannot be made (ENOENT); make it with mode 0700");
  });
});

describe("at the end", () => {
  test("the socket is removed, and no other file is left", async () => {
    const made = await folder();
    const path = made.at("signer.sock");
    const server = await serve({ path });
    await server.close(0);
    await expect(lstat(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("the socket of a process that came after is left alone", async () => {
    const path = (await folder()).at("signer.sock");
    const before = await serve({ path });
    await rename(path, `${path}.moved`);
    await serve({ path });
    await before.close(0);
    expect(await answers(path)).toBe(true);
  });
});

describe("options", () => {
  const long = `/${"a".repeat(96)}/b.sock`;
  test.each([
    [{ path: "@signpost" }, "socket.path: expected a path in a folder, got an abstract name"],
    [{ path: "signer.sock" }, "socket.path: expected an absolute path"],
    [{ path: "/run/../signer.sock" }, "socket.path: expected an absolute path"],
    [{ path: "/run/signpost/" }, "socket.path: expected an absolute path"],
    [{ path: "/run/a\0b" }, "socket.path: expected an absolute path"],
    [{ path: `/run/${"a".repeat(120)}` }, "socket.path: expected at most 10"],
    [{ path: long.padEnd(112, "c") }, "socket.path: expected at most 10"],
    [{ path: "/run/s/s.sock", mode: "0666" }, 'socket.mode: expected "0600" or "0660"'],
    [{ path: "/run/s/s.sock", mode: 384 }, 'socket.mode: expected "0600" or "0660"'],
    [{ path: "/run/s/s.sock", group: "kube" }, 'socket.group: expected the mode "0660" with a group'],
    [{ path: "/run/s/s.sock", mode: "0660", group: "a:b" }, "socket.group: expected the name or the number"],
    [{ path: "/run/s/s.sock", mode: "0660", group: -1 }, "socket.group: expected the name or the number"],
    [{ path: "/run/s/s.sock", systemd: true }, "socket.path: unknown option"],
    [{ systemd: false }, "socket.systemd: expected true, got false"],
    [{ systemd: true, mode: "0600" }, "socket.mode: unknown option"],
    [{ pathh: "/run/s/s.sock" }, "socket.pathh: unknown option; did you mean path?"],
    [{}, "socket: expected a path, or systemd: true"],
    ["/run/s/s.sock", "socket: expected an object, got a string"],
  ])("%j is refused", (options, message) => {
    expect(() => readSocketOptions(options)).toThrow(message);
  });
});

describe("options that are accepted", () => {
  const longest = `/run/${"a".repeat(MAX_BYTES - 5)}`;
  test.each<[options: object, read: object]>([
    [{ path: "/run/s/s.sock" }, { path: "/run/s/s.sock", mode: 0o600, group: undefined }],
    [
      { path: "/s.sock", mode: "0600" },
      { path: "/s.sock", mode: 0o600, group: undefined },
    ],
    [{ path: longest }, { path: longest, mode: 0o600, group: undefined }],
    [
      { path: "/run/s/s.sock", mode: "0660" },
      { path: "/run/s/s.sock", mode: 0o660, group: undefined },
    ],
    ...[0, 4_294_967_294, "_a", "kube-apiserver.x_1$", `a${"b".repeat(63)}`].map((group): [object, object] => [
      { path: "/run/s/s.sock", mode: "0660", group },
      { path: "/run/s/s.sock", mode: 0o660, group },
    ]),
    [{ systemd: true }, { systemd: true }],
    [
      { systemd: true, name: "signer" },
      { systemd: true, name: "signer" },
    ],
  ])("%j", (options, read) => {
    expect(readSocketOptions(options)).toEqual(read);
  });

  test.each([4_294_967_295, 1.5, "", "1a", "a$b", "-a", `a${"b".repeat(64)}`, null])(
    "but not the group %j",
    (group) => {
      const options = { path: "/run/s/s.sock", mode: "0660", group };
      expect(() => readSocketOptions(options)).toThrow("socket.group: expected the name or the number of a group");
    },
  );

  test("but not a path of one byte more, nor one whose name for a moment is too long", () => {
    expect(() => readSocketOptions({ path: `${longest}a` })).toThrow(
      `socket.path: expected at most ${MAX_BYTES} bytes, got ${MAX_BYTES + 1}`,
    );
    const folder = `/${"a".repeat(MAX_BYTES - 11)}`;
    const path = `${folder}/s`;
    expect(temporaryPath(path, "00000000")).toBe(`${folder}/.00000000`);
    expect(() => readSocketOptions({ path })).not.toThrow();
    expect(() => readSocketOptions({ path: `${folder}a/s` })).toThrow(`got ${MAX_BYTES + 1}`);
  });

  test("but not a name that is empty", () => {
    expect(() => readSocketOptions({ systemd: true, name: "" })).toThrow("socket.name: ");
  });
});

describe("the descriptor of systemd", () => {
  const of = (env: NodeJS.ProcessEnv, name?: string): number => passedDescriptor(name, env, 42);
  const ours = { LISTEN_PID: "42" };

  test.each([
    [{ ...ours, LISTEN_FDS: "1" }, undefined, 3],
    [{ ...ours, LISTEN_FDS: "1", LISTEN_FDNAMES: "a" }, undefined, 3],
    [{ ...ours, LISTEN_FDS: "2", LISTEN_FDNAMES: "a:b" }, "b", 4],
    [{ ...ours, LISTEN_FDS: "2", LISTEN_FDNAMES: "a:b" }, "a", 3],
    [{ ...ours, LISTEN_FDS: "1", LISTEN_FDNAMES: "a" }, "a", 3],
    [{ ...ours, LISTEN_FDS: "12", LISTEN_FDNAMES: `${"a:".repeat(11)}b` }, "b", 14],
  ])("%j with the name %s is %d", (env, name, fd) => {
    expect(of(env, name)).toBe(fd);
  });

  test.each([
    [{}, undefined, "systemd passed no socket"],
    [{ LISTEN_FDS: "1" }, undefined, "systemd passed no socket"],
    [{ LISTEN_PID: "41", LISTEN_FDS: "1" }, undefined, "passed its socket to another process"],
    [{ ...ours, LISTEN_FDS: "0" }, undefined, "systemd passed no socket"],
    [{ ...ours, LISTEN_FDS: "1x" }, undefined, "systemd passed no socket"],
    [{ ...ours, LISTEN_FDS: "x1" }, undefined, "systemd passed no socket"],
    [{ ...ours, LISTEN_FDS: "10000" }, undefined, "systemd passed no socket"],
    [{ ...ours }, undefined, "systemd passed no socket"],
    [{ LISTEN_PID: "41", LISTEN_FDS: "0" }, undefined, "systemd passed no socket"],
    [{ ...ours, LISTEN_FDS: "1" }, "a", "socket.name: expected the FileDescriptorName"],
    [{ ...ours, LISTEN_FDS: "2", LISTEN_FDNAMES: "a:b" }, undefined, "socket.name: expected a name"],
    [{ ...ours, LISTEN_FDS: "2", LISTEN_FDNAMES: "a:b" }, "c", "socket.name: expected the FileDescriptorName"],
    [{ ...ours, LISTEN_FDS: "1", LISTEN_FDNAMES: "a:b" }, "b", "socket.name: expected the FileDescriptorName"],
  ])("%j with the name %s is refused", (env, name, message) => {
    expect(() => of(env, name)).toThrow(message);
  });
});

/** As a process that was killed does. */
async function leaveSocketBehind(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ path: `${path}.first` }, resolve));
  await rename(`${path}.first`, path);
  await new Promise((resolve) => server.close(resolve));
  expect((await lstat(path)).isSocket()).toBe(true);
}
