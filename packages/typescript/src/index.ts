export { Offhook, type Options, type RequestOptions } from "./client.js";
export { ApiConnectionError, ApiError, OffhookError, WebhookSignatureError } from "./errors.js";
export { constructEvent, type Event, type VerifyOptions } from "./webhooks.js";
export type { Answer, Input, Name, Schemas } from "./types.js";
