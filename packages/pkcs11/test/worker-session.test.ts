import { expect, test } from "vitest";
import type { Binding, Handle } from "../src/cryptoki/binding.ts";
import { CKR_SESSION_HANDLE_INVALID } from "../src/cryptoki/constants.ts";
import type { TokenInSlot } from "../src/wire/commands.ts";
import { createGate, startGeneration } from "../src/wire/gate.ts";
import type { WorkerModule } from "../src/worker/worker-module.ts";
import { WorkerSession } from "../src/worker/worker-session.ts";

const CKF_TOKEN_INITIALIZED = 0x400;
const TOKEN: TokenInSlot = { slotId: "1", label: "op", serial: "1" };
const NOT_LOGGED_IN = { loggedIn: false, loginNeeded: false, tokenFlags: CKF_TOKEN_INITIALIZED };

/** A module that gives the lowest free number to a new session, as the one for TPMs does. Threads share it. */
function createModule() {
  const open = new Set<number>();
  const gate = createGate();
  const opening = { does: (): void => undefined };
  const refusing = <Value>(session: Handle, value: Value): Value => {
    if (open.has(session.readUInt8())) return value;
    throw Object.assign(new Error("CKR_SESSION_HANDLE_INVALID"), { code: CKR_SESSION_HANDLE_INVALID });
  };
  const binding = {
    C_OpenSession: () => {
      let number = 1;
      while (open.has(number)) number += 1;
      open.add(number);
      opening.does();
      return Buffer.of(number);
    },
    C_CloseSession: (session: Handle) => void open.delete(refusing(session, session.readUInt8())),
    C_GetSessionInfo: (session: Handle) => refusing(session, { state: 0 }),
    C_GetTokenInfo: () => ({ label: "op".padEnd(32), serialNumber: "1".padEnd(16), flags: CKF_TOKEN_INITIALIZED }),
  } as unknown as Binding;
  const module = { binding, gate, slot: () => Buffer.alloc(8) } as unknown as WorkerModule;
  return { open, gate, opening, thread: () => new WorkerSession(module) };
}

test("opening again closes the session before", () => {
  const { open, thread } = createModule();
  const session = thread();
  session.open(TOKEN);
  session.open(TOKEN);
  expect([...open]).toEqual([2]);
});

test("a session that other code closed is opened again under its old number", () => {
  const { open, thread } = createModule();
  const session = thread();
  session.open(TOKEN);
  open.clear();
  expect(session.open(TOKEN)).toEqual(NOT_LOGGED_IN);
  expect(session.state()).toEqual(NOT_LOGGED_IN);
  expect([...open]).toEqual([1]);
});

test("a session is open again at the next try if another thread closed its number", () => {
  const { open, thread } = createModule();
  const [one, other] = [thread(), thread()];
  one.open(TOKEN);
  open.clear();
  other.open(TOKEN);
  one.close();
  expect(() => other.state()).toThrow(`C_GetSessionInfo: ${CKR_SESSION_HANDLE_INVALID}`);
  expect(other.open(TOKEN)).toEqual(NOT_LOGGED_IN);
  expect([...open]).toEqual([1]);
});

test("a session that is lost while it is opened is not closed by its number later", () => {
  const { open, thread } = createModule();
  const [lost, other] = [thread(), thread()];
  lost.open(TOKEN);
  open.clear();
  expect(() => lost.state()).toThrow(`C_GetSessionInfo: ${CKR_SESSION_HANDLE_INVALID}`);
  other.open(TOKEN);
  lost.close();
  expect(other.state()).toEqual(NOT_LOGGED_IN);
});

test("a session that was being opened when the module was initialized again is none, and its number is not closed", () => {
  const { open, gate, opening, thread } = createModule();
  const session = thread();
  opening.does = () => startGeneration(gate);
  expect(() => session.open(TOKEN)).toThrow(`session: ${CKR_SESSION_HANDLE_INVALID}`);
  session.close();
  // Another thread may have this number in the module's new life.
  expect([...open]).toEqual([1]);
  opening.does = () => undefined;
  expect(session.open(TOKEN)).toEqual(NOT_LOGGED_IN);
});
