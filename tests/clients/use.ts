// Uses the installed package on a running server, through the proxy of faults.py: node use.js VECTORS URL KEY

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  ApiConnectionError,
  ApiError,
  constructEvent,
  Offhook,
  type Options,
  type Schemas,
  WebhookSignatureError,
} from "offhook";

const CUSTOMER = "+14155550123";
const [vectors, url, key] = process.argv.slice(2);
assert(vectors && url && key, "node use.js VECTORS URL KEY");
process.env.OFFHOOK_API_URL = url;
process.env.OFFHOOK_API_KEY = key;

let count = 0;
const waits: number[] = [];
/** Counts its requests, and notes the seconds that it would wait. */
const observed = (more: Options = {}) =>
  new Offhook({
    fetch: (...request) => {
      count += 1;
      return fetch(...request);
    },
    sleep: async (milliseconds) => waits.push(milliseconds / 1000),
    ...more,
  });
const offhook = observed();

async function refused(action: Promise<unknown>, status: number, code: string): Promise<ApiError> {
  const error = await action.then(() => assert.fail(`no ${code}`), (error: unknown) => error);
  assert(error instanceof ApiError, String(error));
  assert.deepEqual([error.status, error.code], [status, code], error.message);
  return error;
}

async function broken(action: Promise<unknown>): Promise<ApiConnectionError> {
  const error = await action.then(() => assert.fail("no fault"), (error: unknown) => error);
  assert(error instanceof ApiConnectionError, String(error));
  return error;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((again) => setTimeout(again, 50));
  }
  throw new Error(`it never came to this: ${what}`);
}

/** What happens to the next requests. */
async function meet(...faults: string[]): Promise<void> {
  waits.length = 0;
  await fetch(`${url}/faults`, { method: "PUT", body: JSON.stringify(faults) });
}

/** The idempotency keys of the requests since then. */
async function keys(): Promise<(string | null)[]> {
  const requests = (await (await fetch(`${url}/faults`)).json()) as { key: string | null }[];
  return requests.map((request) => request.key);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function agents(): Promise<Schemas["Agent"]> {
  const config = {
    system_prompt: "You are Eva.",
    first_message: "Hello {{name}}.",
    llm: { provider: "scripted", model: "scripted" },
    dynamic_variables: { name: { default: "you" } },
  };
  const { id, status } = await offhook.createAgent({ body: { name: "Eva", language: "en", config } });
  assert.equal(status, "draft");
  const body = { name: "Eva 2", config: { llm: { temperature: 0.5 } }, expected_version: 1 };
  assert.equal((await offhook.updateAgent({ id, body })).current_version, 2);
  await refused(offhook.updateAgent({ id, body }), 409, "conflict");
  const published = await offhook.publishAgent({ id, body: { note: "first" } });
  assert.deepEqual([published.status, published.published_version], ["active", 2]);
  const versions = await offhook.listAgentVersions({ id });
  assert.deepEqual(versions.data.map((one) => [one.version, one.is_published]), [[2, true], [1, false]]);
  return offhook.getAgent({ id });
}

async function calls({ id: agent_id, name }: Schemas["Agent"]): Promise<void> {
  assert.equal(name, "Eva 2");
  const body = { agent_id, to: CUSTOMER, metadata: { name: "Ana", visits: 2 } };
  const handles: string[] = [];
  for (const at of [1, 2, 3, 4, 5]) {
    handles.unshift((await offhook.placeCall({ body }, { idempotencyKey: `call-${at}` })).id);
  }
  assert.equal((await offhook.placeCall({ body }, { idempotencyKey: "call-5" })).id, handles[0]);
  const other = { agent_id, to: "+14155550199" };
  await refused(offhook.placeCall({ body: other }, { idempotencyKey: "call-5" }), 409, "idempotency_conflict");

  await meet();
  const listed = await all(offhook.paginate(offhook.listCalls, { limit: 2, agent_id }));
  assert.deepEqual(listed.map((call) => call.call_id), handles);
  assert.equal((await keys()).length, 3);

  for (const id of handles) {
    const call = await until("an ended call", async () => {
      const call = await offhook.getCall({ id });
      return call.status === "initiated" ? undefined : call;
    });
    assert.equal(call.status, "completed");
    assert.equal(call.metadata.name, "Ana");
  }
  await refused(offhook.hangUpCall({ id: handles[0] ?? "" }), 409, "conflict");
}

async function faults({ id: agent_id }: Schemas["Agent"]): Promise<void> {
  const placed = async (phone: string) =>
    (await offhook.listCalls({ agent_id, phone })).data.map((call) => call.call_id);

  // The service has placed the call each time that the connection broke: it is one call.
  await meet("reset", "cut", "garbage");
  const call = await offhook.placeCall({ body: { agent_id, to: "+14155550101" } });
  const sent = await keys();
  assert.equal(sent.length, 4);
  assert(sent[0] && sent.every((key) => key === sent[0]), `${sent}`);
  waits.forEach((wait, at) => assert(wait >= 0.25 * 2 ** at && wait <= 0.5 * 2 ** at, `${waits}`));
  assert.deepEqual(await placed("+14155550101"), [call.id]);
  assert.notEqual((await offhook.placeCall({ body: { agent_id, to: "+14155550101" } })).id, call.id);

  // Retries end, and the last error is what the caller sees.
  await meet("503", "503", "503", "503");
  const busy = offhook.placeCall({ body: { agent_id, to: CUSTOMER } });
  assert.equal((await refused(busy, 503, "service_unavailable")).retryAfter, 5);
  assert.deepEqual([waits, (await keys()).length], [[5, 5, 5], 4]);
  await meet("502", "reset");
  await broken(offhook.getAgent({ id: agent_id }, { maxRetries: 1 }));
  await meet("502", "502");
  await refused(observed({ maxRetries: 1 }).getAgent({ id: agent_id }), 502, "unexpected_response");
  await meet("429 for an hour");
  assert.equal((await refused(offhook.getMe(), 429, "rate_limit_exceeded")).retryAfter, 3600);
  assert.deepEqual([waits, (await keys()).length], [[], 1]);

  // What may have been done, and would be done twice, is not sent again; what was turned away is.
  const named = (name: string) => offhook.createAgent({ body: { name, language: "en" } });
  for (const fault of ["reset", "cut"]) {
    await meet(fault);
    assert((await broken(named(fault))).sent);
    assert.equal((await keys()).length, 1);
    assert.equal((await offhook.listAgents({ q: fault })).data.length, 1);
  }
  await meet("garbage");
  await refused(named("garbage"), 200, "unexpected_response");
  await meet("503");
  await refused(named("unavailable"), 503, "service_unavailable");
  assert.deepEqual([waits, await keys()], [[], [null]]);
  await meet("429", "503 uncounted", "409");
  await named("patient");
  assert.deepEqual(waits, [7, 5, 1]);
  waits.length = 0;
  const nobody = createServer();
  await new Promise<void>((listening) => nobody.listen(0, "127.0.0.1", listening));
  const { port } = nobody.address() as AddressInfo;
  await new Promise((ended) => nobody.close(ended));
  const closed = observed({ baseUrl: `http://127.0.0.1:${port}/` });
  assert(!(await broken(closed.createAgent({ body: { name: "nowhere", language: "en" } }))).sent);
  assert.equal(waits.length, 3);

  // Time-outs are retried, a caller's own abort is not.
  await meet("silence");
  assert.equal((await offhook.getAgent({ id: agent_id }, { timeout: 1000 })).id, agent_id);
  await meet("silence");
  await assert.rejects(offhook.getMe({}, { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  assert.equal((await keys()).length, 1);
  assert.throws(() => new Offhook({ apiKey: "" }), TypeError);
  await assert.rejects(offhook.getAgent({ id: ".." }), TypeError);
}

async function legacyAgent(): Promise<string> {
  const [legacy] = (await offhook.listAgents({ runtime: "legacy" })).data;
  assert(legacy);
  return legacy.id;
}

async function recordings(): Promise<void> {
  const placed = await offhook.placeCall({ body: { agent_id: await legacyAgent(), to: CUSTOMER } });
  const id = placed.id.replace("call_", "");
  const conversation = await until("a recording", async () => {
    const found = await offhook.getConversation({ id });
    return found.has_audio ? found : undefined;
  });
  assert(conversation.transcript.length > 0);
  assert.deepEqual((await offhook.listTurns({ id })).data, conversation.transcript);
  const audio = await offhook.getRecording({ id });
  assert.equal(Buffer.from(await audio.arrayBuffer()).subarray(0, 4).toString(), "RIFF");
  const part = await offhook.getRecording({ id }, { headers: { Range: "bytes=0-3" } });
  assert.deepEqual([part.status, await part.text()], [206, "RIFF"]);
  const events = await (await offhook.followConversation({ id })).text();
  assert(events.includes("event: turn") && events.includes("event: state"));
}

async function knowledge(): Promise<void> {
  const folder = await offhook.createFolder({ body: { name: "Rooms" } });
  const form = new FormData();
  form.append("folder_id", folder.id);
  form.append("file", new Blob(["# Pool\n\nThe pool opens at nine.\n"]), "pool.md");
  // A form is sent again as it is.
  await meet("429");
  const { id, source, folder_id } = await offhook.createDocument({ body: form });
  assert.deepEqual([source, folder_id], ["file", folder.id]);
  const document = await until("a document that was read", async () => {
    const found = await offhook.getDocument({ id });
    return found.status === "processing" ? undefined : found;
  });
  assert.deepEqual([document.status, document.error], ["ready", null]);
  assert((await (await offhook.getDocumentContent({ id })).text()).includes("The pool opens at nine."));
  const found = await offhook.searchKnowledge({ body: { query: "When does the pool open?", doc_ids: [id] } });
  assert.equal(found.data[0]?.document_id, id);
  const removed = await offhook.deleteDocument({ id });
  assert.deepEqual([removed.deleted, removed.agents_affected], [true, []]);
}

async function webhooks(): Promise<void> {
  const received: { body: Buffer; signature: string }[] = [];
  const receiver = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      received.push({ body: Buffer.concat(parts), signature: String(request.headers["x-service-signature"]) });
      answer.end();
    });
  });
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const { id, secret } = await offhook.createWebhook({ body: { url: address, description: "Ours" } });
  const test = async () => {
    await offhook.testWebhook({ id, body: { type: "call.failed" } });
    return until("a webhook", async () => received.pop());
  };
  const untrusted = (...given: Parameters<typeof constructEvent>) =>
    assert.throws(() => constructEvent(...given), WebhookSignatureError);

  const { body, signature } = await test();
  const event = constructEvent(body, signature, secret);
  assert(event.type === "call.failed" && event.data.reason);
  const sentAt = Number(/t=(\d+)/.exec(signature)?.[1]);
  constructEvent(body.toString(), signature, secret, { now: sentAt + 300 });
  untrusted(body, signature, secret, { now: sentAt + 301 });
  untrusted(body, signature, secret, { now: sentAt - 2, tolerance: 1 });
  untrusted(Buffer.concat([body, Buffer.from(" ")]), signature, secret);
  untrusted(body, signature.replace(/t=\d+/, `t=${sentAt + 1}`), secret);
  untrusted(body, signature, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8");
  for (const header of [undefined, "", "t", `t=${sentAt}`, `${signature},t=1`, `${signature}0`, `${signature},x`]) {
    untrusted(body, header, secret);
  }

  const rotated = (await offhook.rotateWebhookSecret({ id, body: { overlap_hours: 24 } })).secret;
  assert(rotated);
  const during = await test();
  assert.equal(during.signature.split("v1=").length, 3);
  for (const one of [secret, rotated]) constructEvent(during.body, during.signature, one);
  await offhook.rotateWebhookSecret({ id });
  const after = await test();
  for (const one of [secret, rotated]) untrusted(after.body, after.signature, one);
  receiver.close();

  for (const { secrets, t, body, header } of JSON.parse(readFileSync(vectors ?? "", "utf8"))) {
    const json = (() => { try { JSON.parse(body); return true; } catch { return false; } })();
    for (const one of secrets) {
      const construct = () => constructEvent(body, header, one, { now: t });
      json ? construct() : assert.throws(construct, SyntaxError);
    }
  }
  assert.equal((await offhook.updateWebhook({ id, body: { status: "disabled" } })).status, "disabled");
  assert.equal((await offhook.deleteWebhook({ id })).deleted, true);
  await refused(offhook.getWebhook({ id }), 404, "not_found");
}

async function batches(): Promise<void> {
  const recipients = [{ to: CUSTOMER, metadata: { name: "Ana" } }, { to: "+14155550124" }];
  const body = { name: "Spring", agent_id: await legacyAgent(), recipients, scheduled_at: "2099-01-01" };
  await meet("reset");
  const { id, status, counts } = await offhook.createBatch({ body });
  assert.deepEqual([status, counts.total], ["scheduled", 2]);
  assert.equal((await offhook.listBatches()).data.length, 1);
  const listed = await all(offhook.paginate(offhook.listBatchRecipients, { id, limit: 1 }));
  assert.deepEqual(listed.map((one) => one.to), recipients.map((one) => one.to));
  assert.equal((await offhook.cancelBatch({ id })).status, "cancelled");
}

async function lists(): Promise<void> {
  assert.equal((await offhook.getMe()).account.plan, "scale");
  assert.equal((await offhook.getPlan()).plan, "scale");
  assert((await offhook.getCredits()).balance_credits > 0);
  for (const operation of [
    offhook.listAgents,
    offhook.listTools,
    offhook.listBatches,
    offhook.listInvoices,
    offhook.listTransactions,
    offhook.listUsage,
    offhook.listCalls,
    offhook.listConversations,
    offhook.listIntegrations,
    offhook.listDocuments,
    offhook.listFolders,
    offhook.listLogs,
    offhook.listModels,
    offhook.listPhoneNumbers,
    offhook.listVoices,
    offhook.listWebhooks,
    offhook.listDeliveries,
    offhook.listEventTypes,
  ]) {
    const list = await operation({ limit: 3 });
    assert(list.data.length <= 3 && typeof list.has_more === "boolean");
  }
  assert.equal((await offhook.listTeamMembers()).seats.used, 1);
}

async function errors(): Promise<void> {
  assert((await offhook.listModels({ kind: "llm" })).data.some((model) => model.id === "scripted"));
  await refused(observed({ apiKey: "service_live_0" }).getMe(), 401, "unauthorized");
  const bad = await refused(offhook.placeCall({ body: { agent_id: "x", to: "no number" } }), 400, "invalid_body");
  assert(bad.requestId && bad.message.startsWith("`to`"), bad.message);
  await refused(offhook.placeCall({ body: { agent_id: "x", to: CUSTOMER } }), 403, "agent_not_found");
  await refused(offhook.listCalls({ limit: 101 }), 400, "invalid_query");
}

/** The program of the package's README. */
async function example({ id }: Schemas["Agent"]): Promise<void> {
  process.env.AGENT_ID = id;
  const before = (await all(offhook.paginate(offhook.listCalls))).length;
  await import("./example.js");
  assert.equal((await all(offhook.paginate(offhook.listCalls))).length, before + 1);
}

await errors();
const agent = await agents();
await calls(agent);
await faults(agent);
await recordings();
await knowledge();
await webhooks();
await batches();
await lists();
await example(agent);
console.log(`${count} requests, all as described`);
