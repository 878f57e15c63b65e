// PKCS#11 from Node without Signpost: the binding by hand, and the two libraries built on it.
import { randomBytes, type webcrypto } from "node:crypto";
import graphene from "graphene-pk11";
import { Crypto } from "node-webcrypto-p11";
import pkcs11js from "pkcs11js";

/** One way to make signatures, as many concurrently as it can. */
export interface Pkcs11Peer {
  readonly name: string;
  readonly sign: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

export interface KeyPlace {
  readonly module: string;
  readonly token: string;
  readonly label: string;
  readonly pin: string;
}

const CKR_USER_ALREADY_LOGGED_IN = 0x100;
export const digest: Buffer = randomBytes(32);

/** Hands out sessions, each to one caller at a time. */
export function pooled<Session>(
  sessions: readonly Session[],
  use: (session: Session) => Promise<unknown>,
): () => Promise<unknown> {
  const free = [...sessions];
  const waiting: ((session: Session) => void)[] = [];
  return async () => {
    const session = free.pop() ?? (await new Promise<Session>((resolve) => waiting.push(resolve)));
    try {
      return await use(session);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(session);
      else next(session);
    }
  };
}

interface OpenSession {
  readonly session: Buffer;
  readonly key: Buffer;
}

/** Sessions of the binding. */
export interface BindingSessions {
  readonly open: () => OpenSession;
  readonly sign: (opened: OpenSession, digest: Buffer) => Buffer;
  /** C_SignInit on the caller's thread, C_SignAsync in libuv's pool. */
  readonly signAsync: (opened: OpenSession, digest: Buffer) => Promise<Buffer>;
  readonly close: (opened: OpenSession) => void;
}

/** The module is already initialized, and the token logged in, by a signer that was opened before. */
export function openSessions({ module: path, token, label }: KeyPlace): BindingSessions {
  const module = new pkcs11js.PKCS11();
  module.load(path);
  const slot = module.C_GetSlotList(true).find((candidate) => module.C_GetTokenInfo(candidate).label.trim() === token);
  if (slot === undefined) throw new Error("no such token");
  const init = ({ session, key }: OpenSession): void =>
    module.C_SignInit(session, { mechanism: pkcs11js.CKM_ECDSA }, key);
  return {
    open: () => {
      const session = module.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION);
      module.C_FindObjectsInit(session, [
        { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_PRIVATE_KEY },
        { type: pkcs11js.CKA_LABEL, value: label },
      ]);
      const [key] = module.C_FindObjects(session, 1);
      module.C_FindObjectsFinal(session);
      if (key === undefined) throw new Error("no such key");
      return { session, key };
    },
    sign: (opened, input) => {
      init(opened);
      return module.C_Sign(opened.session, input, Buffer.alloc(64));
    },
    signAsync: (opened, input) => {
      init(opened);
      return module.C_SignAsync(opened.session, input, Buffer.alloc(64));
    },
    close: ({ session }) => module.C_CloseSession(session),
  };
}

export function openBinding(where: KeyPlace, how: "sync" | "async", count: number): Pkcs11Peer {
  const { open, sign, signAsync, close } = openSessions(where);
  const sessions = Array.from({ length: count }, open);
  return {
    name: `pkcs11js by hand, ${how === "sync" ? "synchronous" : "C_SignAsync"}`,
    sign: pooled(sessions, async (opened) => (how === "sync" ? sign(opened, digest) : signAsync(opened, digest))),
    close: async () => sessions.forEach(close),
  };
}

export function openGraphene({ module: path, token, label, pin }: KeyPlace, count: number): Pkcs11Peer {
  const module = graphene.Module.load(path);
  module.initialize();
  const slots = module.getSlots(true);
  const slot = Array.from({ length: slots.length }, (_, index) => slots.items(index)).find(
    (candidate) => candidate.getToken().label.trim() === token,
  );
  if (slot === undefined) throw new Error("no such token");
  const sessions = Array.from({ length: count }, () => {
    const session = slot.open(graphene.SessionFlag.SERIAL_SESSION);
    ignoringLogin(() => session.login(pin));
    const key = session.find({ class: graphene.ObjectClass.PRIVATE_KEY, label }).items(0).toType<graphene.PrivateKey>();
    return { session, key };
  });
  return {
    name: "graphene-pk11",
    sign: pooled(sessions, ({ session, key }) => {
      const sign = session.createSign("ECDSA", key);
      return new Promise((resolve, reject) => {
        sign.once(digest, (error, signature) => (error ? reject(error) : resolve(signature)));
      });
    }),
    close: async () => {
      for (const { session } of sessions) session.close();
    },
  };
}

export async function openWebCrypto({ module: path, token, pin }: KeyPlace, count: number): Promise<Pkcs11Peer> {
  const sessions = await Promise.all(
    Array.from({ length: count }, async () => {
      const crypto = new Crypto({ library: path, slot: slotIndex(path, token), readWrite: false });
      ignoringLogin(() => crypto.login(pin));
      const names = await crypto.keyStorage.keys();
      const name = names.find((candidate) => candidate.startsWith("private"));
      if (name === undefined) throw new Error("no such key");
      const key = await crypto.keyStorage.getItem(
        name,
        { name: "ECDSA", namedCurve: "P-256" } satisfies webcrypto.EcKeyImportParams,
        false,
        ["sign"],
      );
      return { crypto, key };
    }),
  );
  return {
    name: "node-webcrypto-p11",
    sign: pooled(sessions, ({ crypto, key }) => crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, digest)),
    close: async () => {
      // Closing one of them finalizes the module under all others, so the process ends with them open.
    },
  };
}

function slotIndex(path: string, token: string): number {
  const module = new pkcs11js.PKCS11();
  module.load(path);
  return module.C_GetSlotList(true).findIndex((slot) => module.C_GetTokenInfo(slot).label.trim() === token);
}

function ignoringLogin(login: () => void): void {
  try {
    login();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === CKR_USER_ALREADY_LOGGED_IN)) throw error;
  }
}
