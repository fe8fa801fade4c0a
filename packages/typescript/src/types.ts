import type { components, operations } from "./generated/interface.js";

/** The named types of the API, such as `Schemas["AgentConfig"]`. */
export type Schemas = components["schemas"];

/** An operation's name, as in the API reference. */
export type Name = keyof operations;

type Present<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
type Parameter<O, Place extends string> = O extends { parameters: infer P }
  ? Place extends keyof P
    ? Present<P[Place]>
    : unknown
  : unknown;

type Json<C> = "application/json" extends keyof C ? C["application/json"] : never;
type Sent<C> = Json<C> | ("multipart/form-data" extends keyof C ? FormData : never);
type Body<O> = O extends { requestBody: { content: infer C } }
  ? { body: Sent<C> }
  : O extends { requestBody?: infer B }
    ? Present<B> extends { content: infer C }
      ? { body?: Sent<C> }
      : unknown
    : unknown;

type Success<O> = O extends { responses: infer R } ? R[Extract<keyof R, 200 | 201 | 202 | 206>] : never;

/** What an operation takes: its path and query parameters, and its `body`. */
export type Input<N extends Name> = Parameter<operations[N], "path"> &
  Parameter<operations[N], "query"> &
  Body<operations[N]>;

/** What an operation resolves to: the JSON of its answer, or the `Response` where that is a file, text or stream. */
export type Answer<N extends Name> = Success<operations[N]> extends { content: { "application/json": infer J } }
  ? J
  : Response;

/** Whether an operation takes an `Idempotency-Key`. */
export type IsKeyed<N extends Name> = "Idempotency-Key" extends keyof Parameter<operations[N], "header"> ? true : false;
