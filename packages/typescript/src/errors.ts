/** Every error that this package throws on purpose, except for faulty arguments (`TypeError`). */
export class OffhookError extends Error {
  override name = "OffhookError";
}

/** The service refused or failed. Branch on `code`; the message is for people. */
export class ApiError extends OffhookError {
  override name = "ApiError";

  constructor(
    message: string,
    readonly status: number,
    /** The stable code, such as `agent_not_found`; `unexpected_response` if the answer is not one of the API. */
    readonly code: string,
    readonly requestId: string | undefined,
    /** The seconds of the header `Retry-After`. */
    readonly retryAfter: number | undefined,
  ) {
    super(message);
  }
}

/** No complete answer: the connection failed, broke or timed out. `cause` is the fault. */
export class ApiConnectionError extends OffhookError {
  override name = "ApiConnectionError";

  constructor(
    message: string,
    /** Whether the service may have received the request. */
    readonly sent: boolean,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/** The webhook is not to be trusted: answer 400 and do nothing else. */
export class WebhookSignatureError extends OffhookError {
  override name = "WebhookSignatureError";
}
