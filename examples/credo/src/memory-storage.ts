import {
  type AgentContext,
  type BaseRecord,
  type BaseRecordConstructor,
  RecordNotFoundError,
  type StorageService,
} from "@credo-ts/core";

/** Records in memory, where Credo usually has a database or Askar. It finds records by their id and their class only. */
export class MemoryStorage implements StorageService<BaseRecord> {
  readonly #records = new Map<string, BaseRecord>();
  readonly #notFound: typeof RecordNotFoundError;

  readonly supportsCursorPagination = false;

  constructor(notFound: typeof RecordNotFoundError = RecordNotFoundError) {
    this.#notFound = notFound;
  }

  async save(_context: AgentContext, record: BaseRecord): Promise<void> {
    this.#records.set(record.id, record);
  }
  async update(_context: AgentContext, record: BaseRecord): Promise<void> {
    this.#records.set(record.id, record);
  }
  async delete(_context: AgentContext, record: BaseRecord): Promise<void> {
    this.#records.delete(record.id);
  }
  async deleteById(_context: AgentContext, _class: BaseRecordConstructor<BaseRecord>, id: string): Promise<void> {
    this.#records.delete(id);
  }
  async getById(
    _context: AgentContext,
    recordClass: BaseRecordConstructor<BaseRecord>,
    id: string,
  ): Promise<BaseRecord> {
    const record = this.#records.get(id);
    if (record instanceof recordClass) return record;
    throw new this.#notFound("no such record", { recordType: recordClass.type });
  }
  async getAll(_context: AgentContext, recordClass: BaseRecordConstructor<BaseRecord>): Promise<BaseRecord[]> {
    return [...this.#records.values()].filter((record) => record instanceof recordClass);
  }
  findByQuery(context: AgentContext, recordClass: BaseRecordConstructor<BaseRecord>): Promise<BaseRecord[]> {
    return this.getAll(context, recordClass);
  }
}
