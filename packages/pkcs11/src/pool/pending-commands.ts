/** What the list needs of a command. */
export interface PendingCommand {
  readonly id: number;
  /** It was given up on. */
  readonly late: boolean;
}

/**
 * The commands of a thread that have not returned, in their order. There are few. A Map allocates a new table every few
 * commands, and each old table keeps the next one alive, with all that was in it, until a full garbage collection.
 */
export class PendingCommands<Command extends PendingCommand> implements Iterable<Command> {
  readonly #commands: Command[] = [];

  get size(): number {
    return this.#commands.length;
  }

  /** The first that was not given up on. */
  get front(): Command | undefined {
    return this.#commands.find(({ late }) => !late);
  }

  add(command: Command): void {
    this.#commands.push(command);
  }

  has(command: Command): boolean {
    return this.#commands.includes(command);
  }

  /** Removes and returns the command with this number. */
  take(id: number): Command | undefined {
    const index = this.#commands.findIndex((command) => command.id === id);
    return index < 0 ? undefined : this.#commands.splice(index, 1)[0];
  }

  clear(): void {
    this.#commands.length = 0;
  }

  [Symbol.iterator](): Iterator<Command> {
    return [...this.#commands].values();
  }
}
