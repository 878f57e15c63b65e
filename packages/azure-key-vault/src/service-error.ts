import type { ServiceError } from "./exchange.ts";

/** An answer that is not a success. Its members are those that another transport sets too. */
export class AzureServiceError extends Error implements ServiceError {
  readonly statusCode: number;
  readonly code: string | undefined;
  readonly innerCode: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;

  constructor({ message, statusCode, code, innerCode, retryAfterSeconds, requestId }: ServiceError) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
    this.innerCode = innerCode;
    this.retryAfterSeconds = retryAfterSeconds;
    this.requestId = requestId;
  }
}
