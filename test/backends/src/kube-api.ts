import { Agent, request } from "undici";

export interface KubeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface TokenRequest {
  /** In the namespace `default`. Default `app`. */
  readonly serviceAccount?: string | undefined;
  /** Default: the server's, an hour. */
  readonly expirationSeconds?: number | undefined;
}

export interface RequestedToken {
  /** 201, unless it was refused. */
  readonly status: number;
  /** Empty if it was refused. */
  readonly token: string;
  /** When it expires, by the answer. Empty if it was refused. */
  readonly expirationTimestamp: string;
  /** The text of a refusal. */
  readonly message: string;
  /** The warnings of the answer. */
  readonly warnings: string;
}

export interface TokenReview {
  readonly authenticated: boolean;
  readonly username: string | undefined;
}

/** The requests to kube-apiserver that concern ServiceAccount tokens. */
export interface KubeApi {
  readonly origin: string;
  isReady(): Promise<boolean>;
  /** Sends a request as an administrator, or with another token. */
  call(method: "GET" | "POST", path: string, body?: object, token?: string): Promise<KubeAnswer>;
  createServiceAccount(name?: string): Promise<void>;
  requestToken(options?: TokenRequest): Promise<RequestedToken>;
  reviewToken(token: string): Promise<TokenReview>;
  /** The keys that it publishes, by `kid`. */
  publishedKeys(): Promise<ReadonlyMap<string, JsonWebKey>>;
  discovery(): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export interface KubeConnection {
  readonly origin: string;
  /** In PEM. */
  readonly ca: string;
  readonly adminToken: string;
}

type JsonWebKey = Readonly<Record<string, string>>;

export function connectToKube({ origin, ca, adminToken }: KubeConnection): KubeApi {
  const dispatcher = new Agent({ connect: { ca } });
  const call: KubeApi["call"] = async (method, path, body, token = adminToken) => {
    const answer = await request(origin + path, {
      dispatcher,
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    const isJson = String(answer.headers["content-type"]).includes("json");
    return { status: answer.statusCode, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
  };
  return {
    origin,
    call,
    isReady: () =>
      call("GET", "/readyz").then(
        ({ status }) => status === 200,
        () => false,
      ),
    createServiceAccount: async (name = "app") => {
      const made = await call("POST", accountsPath("default"), { metadata: { name } });
      if (made.status !== 201 && made.status !== 409) throw new Error(`ServiceAccount: ${JSON.stringify(made.body)}`);
    },
    requestToken: async ({ serviceAccount = "app", expirationSeconds } = {}) => {
      const path = `${accountsPath("default")}/${serviceAccount}/token`;
      const { status, headers, body } = await call("POST", path, { spec: { expirationSeconds } });
      const { message = "", status: made } = body as TokenRequestAnswer;
      const { token = "", expirationTimestamp = "" } = typeof made === "object" ? made : {};
      return { status, token, expirationTimestamp, message, warnings: String(headers["warning"] ?? "") };
    },
    reviewToken: async (token) => {
      const { body } = await call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token } });
      const { authenticated = false, user } = (body as TokenReviewAnswer).status;
      return { authenticated, username: user?.username };
    },
    publishedKeys: async () => {
      const { body } = await call("GET", "/openid/v1/jwks");
      const keys = (body as { readonly keys: readonly JsonWebKey[] }).keys;
      return new Map(keys.map((key) => [key["kid"] ?? "", key]));
    },
    discovery: async () =>
      (await call("GET", "/.well-known/openid-configuration")).body as Readonly<Record<string, unknown>>,
    close: () => dispatcher.destroy(),
  };
}

interface TokenRequestAnswer {
  readonly message?: string;
  /** A text if it was refused. */
  readonly status?: string | { readonly token: string; readonly expirationTimestamp: string };
}

interface TokenReviewAnswer {
  readonly status: {
    readonly authenticated?: boolean;
    readonly user?: { readonly username: string };
  };
}

function accountsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/serviceaccounts`;
}
