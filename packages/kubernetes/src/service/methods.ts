import type { ServerUnaryCall } from "@grpc/grpc-js";
import { KubernetesRequestError } from "../errors.ts";
import type { KubernetesSigner, TokenSubject } from "../signer-types.ts";
import { decodeSignRequest, encodeKeys, encodeMetadata, encodeSignResponse, isEmptyRequest } from "../wire/messages.ts";
import { untilEnded } from "./call-signal.ts";

/** A call whose messages are bytes. */
export type Call = ServerUnaryCall<Buffer, Buffer>;
/** The calls of the service. */
export type Method = "Sign" | "FetchKeys" | "Metadata";

/** What is known of a token before its call ends. */
export interface Details extends Partial<TokenSubject> {
  readonly kid?: string | undefined;
}

/** Answers a call. What it knows of a token goes to `note`, because the call may still fail. */
type Answer = (call: Call, signer: KubernetesSigner, note: (details: Details) => void) => Promise<Buffer>;

export const METHODS: Readonly<Record<Method, Answer>> = {
  Sign: async (call, signer, note) => {
    const claims = decodeSignRequest(call.request);
    if (claims === undefined) throw malformed();
    const token = await untilEnded(call, (signal) => signer.sign(claims, { signal, onClaims: note }));
    note({ kid: token.keyId });
    return encodeSignResponse(token);
  },
  FetchKeys: async ({ request }, signer) => {
    if (!isEmptyRequest(request)) throw malformed();
    return encodeKeys(signer.fetchKeys());
  },
  Metadata: async ({ request }, signer) => {
    if (!isEmptyRequest(request)) throw malformed();
    return encodeMetadata(signer.maxTokenLifetimeSeconds);
  },
};

function malformed(): KubernetesRequestError {
  return new KubernetesRequestError("invalid_request", "expected a message of the service");
}
