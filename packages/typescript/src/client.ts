import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { ApiConnectionError, ApiError } from "./errors.js";
import type { operations as Described } from "./generated/interface.js";
import { operations, version } from "./generated/operations.js";
import type { Answer, Input, IsKeyed, Name } from "./types.js";

export interface Options {
  /** An API key; default: the environment's `OFFHOOK_API_KEY`. */
  apiKey?: string;
  /** The service's address; default: the environment's `OFFHOOK_API_URL`, else `http://127.0.0.1:8080`. */
  baseUrl?: string;
  /** How often a request is sent again (default 3), where that is safe. */
  maxRetries?: number;
  /** Milliseconds until an attempt is given up (default 30,000). */
  timeout?: number;
  /** The longest `Retry-After`, in seconds, that is waited for (default 60); beyond it the error is thrown at once. */
  maxRetryAfter?: number;
  /** In place of the global one, for proxies and tests. */
  fetch?: typeof fetch;
  /** In place of timers, for tests. */
  sleep?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

export interface RequestOptions extends Pick<Options, "maxRetries" | "timeout"> {
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

type Keyed = RequestOptions & {
  /** Default: a new UUID. Every attempt sends the same. */
  idempotencyKey?: string;
};
type OptionsOf<N extends Name> = IsKeyed<N> extends true ? Keyed : RequestOptions;
type Arguments<N extends Name> =
  {} extends Input<N>
    ? [input?: Input<N>, options?: OptionsOf<N>]
    : [input: Input<N>, options?: OptionsOf<N>];
// Over `keyof operations` itself, so that editors show what the reference says of each.
type Operations = { [N in keyof Described]: (...given: Arguments<N>) => Promise<Answer<N>> };
type Operation = { method: string; path: string; json: boolean; keyed: boolean };
type List = (query: any, options?: any) => Promise<{ data: unknown[]; next_cursor: string | null }>;
type Item<L extends List> = Awaited<ReturnType<L>>["data"][number];

const FIRST_DELAY = 500;
const LAST_DELAY = 8000;
const SAFE_METHODS = new Set(["GET", "PUT", "DELETE"]);
/** Faults before a request has left. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

export interface Offhook extends Operations {}

/** A client of the API. It has a method for each operation of the reference: `placeCall`, `listCalls`, … */
export class Offhook {
  readonly #options: Required<Options>;

  constructor(options: Options = {}) {
    const { OFFHOOK_API_KEY, OFFHOOK_API_URL } = process.env;
    const apiKey = options.apiKey ?? OFFHOOK_API_KEY;
    if (!apiKey) throw new TypeError("apiKey: pass an API key, or set OFFHOOK_API_KEY");
    this.#options = {
      apiKey,
      baseUrl: (options.baseUrl ?? OFFHOOK_API_URL ?? "http://127.0.0.1:8080").replace(/\/+$/, ""),
      maxRetries: options.maxRetries ?? 3,
      timeout: options.timeout ?? 30_000,
      maxRetryAfter: options.maxRetryAfter ?? 60,
      fetch: options.fetch ?? fetch,
      sleep: options.sleep ?? ((milliseconds, signal) => sleep(milliseconds, undefined, signal && { signal })),
    };
    for (const [name, operation] of Object.entries(operations)) {
      const method = (input: object = {}, more: Keyed = {}) => this.#request(operation, { ...input }, more);
      Object.defineProperty(this, name, { value: method });
    }
  }

  /** Every item of a list, page after page: `for await (const call of offhook.paginate(offhook.listCalls))`. */
  async *paginate<L extends List>(
    list: L,
    ...[query, options]: Parameters<L>
  ): AsyncGenerator<Item<L>, void, undefined> {
    let cursor: string | null | undefined = query?.cursor;
    do {
      const page = await list({ ...query, ...(cursor && { cursor }) }, options);
      yield* page.data as Awaited<Item<L>>[];
      cursor = page.next_cursor;
    } while (cursor);
  }

  async #request(operation: Operation, input: Record<string, unknown>, more: Keyed): Promise<unknown> {
    const { apiKey, baseUrl, maxRetryAfter, sleep } = this.#options;
    const headers = new Headers({ "User-Agent": `offhook-typescript/${version}`, ...more.headers });
    headers.set("Authorization", `Bearer ${apiKey}`);
    if (operation.keyed) headers.set("Idempotency-Key", more.idempotencyKey ?? randomUUID());
    const { body, ...parameters } = input;
    const url = `${baseUrl}${address(operation.path, parameters)}`;
    const init: RequestInit = { method: operation.method, headers };
    if (body instanceof FormData) {
      init.body = body;
    } else if (body !== undefined) {
      headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(body);
    }
    const isSafe = operation.keyed || SAFE_METHODS.has(operation.method);
    const maxRetries = more.maxRetries ?? this.#options.maxRetries;
    for (let attempt = 0; ; attempt += 1) {
      more.signal?.throwIfAborted();
      try {
        return await this.#attempt(url, init, operation.json, more);
      } catch (error) {
        if (more.signal?.aborted || attempt >= maxRetries || !isRetryable(error, isSafe)) throw error;
        const retryAfter = error instanceof ApiError ? error.retryAfter : undefined;
        if (retryAfter !== undefined && retryAfter > maxRetryAfter) throw error;
        const backoff = Math.min(LAST_DELAY, FIRST_DELAY * 2 ** attempt) * (0.5 + Math.random() / 2);
        await sleep(retryAfter === undefined ? backoff : retryAfter * 1000, more.signal);
      }
    }
  }

  async #attempt(url: string, init: RequestInit, json: boolean, more: RequestOptions): Promise<unknown> {
    const timeout = more.timeout ?? this.#options.timeout;
    const controller = new AbortController();
    const abort = () => controller.abort(more.signal?.reason);
    more.signal?.addEventListener("abort", abort);
    const expired = setTimeout(() => controller.abort(new Error(`no answer within ${timeout} ms`)), timeout);
    let kept = false;
    try {
      const response = await this.#options.fetch(url, { ...init, redirect: "manual", signal: controller.signal });
      if (response.ok && !json) {
        // The caller reads it as it comes: only the caller's own signal ends it.
        kept = true;
        return response;
      }
      return answer(response, await response.text());
    } catch (error) {
      if (error instanceof ApiError || more.signal?.aborted) throw error;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const { code, message } = cause as { code?: unknown; message?: unknown };
      const words = `${init.method} ${url}: ${message || code || cause}`;
      throw new ApiConnectionError(words, !NOT_SENT.has(String(code)), error);
    } finally {
      clearTimeout(expired);
      if (!kept) more.signal?.removeEventListener("abort", abort);
    }
  }
}

function address(path: string, parameters: Record<string, unknown>): string {
  const query = new URLSearchParams();
  const inPath = new Set<string>();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(parameters[name] ?? "");
    // Dots would be taken out of the address, and it would be that of another resource.
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name}: is missing or empty`);
    inPath.add(name);
    return encodeURIComponent(value);
  });
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && !inPath.has(name)) query.set(name, String(value));
  }
  const asked = query.toString();
  return asked ? `${filled}?${asked}` : filled;
}

/** The JSON of an answer that says so, else the error. */
function answer(response: Response, text: string): unknown {
  let body: { error?: unknown; message?: unknown } | undefined;
  try {
    body = JSON.parse(text);
  } catch {}
  if (response.ok && typeof body === "object" && body !== null) return body;
  const isOfApi = typeof body?.error === "string" && typeof body.message === "string";
  const wait = response.headers.get("Retry-After") ?? "";
  throw new ApiError(
    isOfApi ? `${body?.message}` : `status ${response.status} with a body that is not of the API`,
    response.status,
    isOfApi ? `${body?.error}` : "unexpected_response",
    response.headers.get("X-Request-Id") ?? undefined,
    /^\d+$/.test(wait) ? Number(wait) : undefined,
  );
}

/** Whether a request may be sent again: at once where it had no effect, else only if it is safe to repeat. */
function isRetryable(error: unknown, isSafe: boolean): boolean {
  if (error instanceof ApiConnectionError) return isSafe || !error.sent;
  if (!(error instanceof ApiError)) return false;
  const { status, code, retryAfter } = error;
  const mayPass = status === 409 && retryAfter !== undefined;
  const hadNoEffect = status === 429 || code === "rate_limit_unavailable" || mayPass;
  return hadNoEffect || (isSafe && (status >= 500 || status < 300));
}
