import { SignerError } from "@signpost/core";
import { elapsedMs, readInstant } from "@signpost/core/adapter";
import type { TokenCertificates, TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { Attachment } from "../sharing/attachment.ts";
import type { AskForGate, GateAnswer } from "../sharing/gate-exchange.ts";
import type { CommandInput, ModuleFile } from "../wire/commands.ts";
import { CLOSE_HANG_MS } from "../wire/hang-limits.ts";
import { ControlThread } from "./control-thread.ts";
import { FreshStarts } from "./fresh-starts.ts";
import { HangingCalls } from "./hanging-calls.ts";

/**
 * One module from C_Initialize to C_Finalize, as this thread sees it. Never calls C_Logout or C_CloseAllSessions, because
 * both would affect other code in the process.
 */
export class ModuleLife {
  readonly hanging: HangingCalls = new HangingCalls();
  readonly freshStarts: FreshStarts;
  readonly file: ModuleFile;
  readonly #control: ControlThread;
  readonly #attachment: Attachment;
  #undone: Promise<void> | undefined;

  /** `ask` finds the other threads of the process that use the module. */
  constructor(file: ModuleFile, ask: AskForGate) {
    this.file = file;
    this.#control = new ControlThread({
      hanging: (returned) => {
        this.hanging.change(1);
        void returned.then(() => this.hanging.change(-1));
      },
      replacement: () => this.#attachment.initializeInput,
    });
    this.#attachment = new Attachment(file, (name, input) => this.#control.run(name, input), ask);
    this.freshStarts = new FreshStarts(this.#attachment, this.hanging, () => this.tokens());
  }

  /** C_Initialize returned CKR_OK to us, so we may finalize the module. */
  get owned(): boolean {
    return this.#attachment.owned;
  }

  /** The answer for another thread of the process, which opens the module with this number. */
  answer(opening: number): GateAnswer | undefined {
    return this.#attachment.answer(opening);
  }

  /** Rejects when the module cannot be initialized. A call that hangs is undone once it has returned. */
  async start(): Promise<void> {
    const begun = readInstant();
    try {
      await this.#attachment.attach();
      this.freshStarts.attached(elapsedMs(begun));
    } catch (error) {
      this.#undone = this.#undoStart();
      throw error;
    }
  }

  /** Resolves once a failed start has been cleaned up. */
  async undone(): Promise<void> {
    await this.#undone;
  }

  tokens(): Promise<TokenList> {
    return this.#control.run("tokens", null);
  }

  /** The certificates of a token that it shows without a login. */
  certificates({ slotId, label, serial }: TokenDescription): Promise<TokenCertificates> {
    return this.#control.run("certificates", { token: { slotId, label, serial } });
  }

  /** The data that a session's thread starts with. @throws SignerError `closed` */
  initializeInput(): CommandInput<"initialize"> {
    const input = this.#attachment.initializeInput;
    if (input === undefined) throw new SignerError("closed", "the module is closed");
    return input;
  }

  /** Finalizes the module if it is ours, as soon as no call is inside it. */
  async stop(): Promise<void> {
    await this.freshStarts.settled();
    await this.hanging.none();
    await this.#control.run("finalize", { module: this.#attachment.leave() }, CLOSE_HANG_MS).catch(() => {});
    await this.hanging.none();
    await this.#control.terminate();
  }

  /** At the exit of the process. Blocks until the module is finalized, if it is ours and no call is hanging inside it. */
  shutDown(timeoutMs: number): void {
    this.#control.shutDown(this.#attachment.leave() && this.hanging.count === 0, timeoutMs);
  }

  async #undoStart(): Promise<void> {
    await this.hanging.none();
    this.#attachment.leave();
    await this.#control.run("undoAttach", null, CLOSE_HANG_MS).catch(() => {});
    await this.hanging.none();
    await this.#control.terminate();
  }
}
