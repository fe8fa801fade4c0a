import { createHmac, timingSafeEqual } from "node:crypto";

import { WebhookSignatureError } from "./errors.js";
import type { Schemas } from "./types.js";

/** A webhook's event. Branch on `type`. */
export type Event = Schemas["Event"];

export interface VerifyOptions {
  /** How many seconds the signature's time may differ from the clock (default 300). */
  tolerance?: number;
  /** The clock, in Unix seconds. */
  now?: number;
}

/** The service sends at most six; each costs a comparison. */
const MAX_SIGNATURES = 16;

/**
 * The event of a webhook, once its signature is verified.
 *
 * `body` is the request's body as received, before any parsing; `signature` is its header `X-Service-Signature`.
 * Throws a `WebhookSignatureError` if the event is not to be trusted.
 */
export function constructEvent(
  body: string | Uint8Array,
  signature: string | null | undefined,
  secret: string,
  { tolerance = 300, now = Date.now() / 1000 }: VerifyOptions = {},
): Event {
  const times: string[] = [];
  const signatures: Buffer[] = [];
  for (const element of (signature ?? "").split(",")) {
    const [, name, value = ""] = /^([^=]*)=(.*)$/s.exec(element) ?? [];
    if (name === undefined) throw malformed();
    if (name === "t") times.push(value);
    if (name === "v1") {
      if (!/^[0-9a-f]{64}$/i.test(value)) throw malformed();
      signatures.push(Buffer.from(value, "hex"));
    }
  }
  const [time] = times;
  if (time === undefined || times.length > 1 || !/^\d{1,15}$/.test(time)) throw malformed();
  if (signatures.length === 0 || signatures.length > MAX_SIGNATURES) throw malformed();
  if (!(Math.abs(Math.floor(now) - Number(time)) <= tolerance)) {
    throw new WebhookSignatureError("the signature's time is too far from the present");
  }
  const expected = createHmac("sha256", secret).update(`${time}.`).update(body).digest();
  // One match is enough: while a rotated secret still signs there are several.
  if (!signatures.some((one) => timingSafeEqual(one, expected))) {
    throw new WebhookSignatureError("no signature in the header matches the body and the secret");
  }
  return JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8"));
}

function malformed(): WebhookSignatureError {
  return new WebhookSignatureError("the signature header is not of the form `t=<seconds>,v1=<hex>`");
}
