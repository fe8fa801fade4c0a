// Uses the generated TypeScript client on a running server: node use.js URL KEY

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./interface.js";

type Agent = components["schemas"]["Agent"];

const CUSTOMER = "+14155550123";
const [url, key] = process.argv.slice(2);
assert(url && key, "node use.js URL KEY");

let count = 0;
const counted: typeof fetch = (...request) => {
  count += 1;
  return fetch(...request);
};
const anyone = createClient<paths>({ baseUrl: url, fetch: counted });
const client = createClient<paths>({
  baseUrl: url,
  fetch: counted,
  headers: { Authorization: `Bearer ${key}` },
});

/** The answer, which must be no error. */
function done<T>(answer: { data?: T; error?: { message: string }; response: Response }): T {
  assert(answer.data !== undefined, `${answer.response.status}: ${answer.error?.message}`);
  return answer.data;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 400; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((again) => setTimeout(again, 50));
  }
  throw new Error(`it never came to this: ${what}`);
}

async function agents(): Promise<Agent> {
  const config = {
    system_prompt: "You are Eva.",
    first_message: "Hello {{name}}.",
    llm: { provider: "scripted", model: "scripted" },
    dynamic_variables: { name: { default: "you" } },
  };
  const made = done(await client.POST("/v1/agents", { body: { name: "Eva", language: "en", config } }));
  assert.equal(made.status, "draft");
  const params = { path: { id: made.id } };
  const changed = done(
    await client.PATCH("/v1/agents/{id}", {
      params,
      body: { name: "Eva 2", config: { llm: { temperature: 0.5 } }, expected_version: 1 },
    }),
  );
  assert.equal(changed.current_version, 2);
  const stale = await client.PATCH("/v1/agents/{id}", { params, body: { config: {}, expected_version: 1 } });
  assert.equal(stale.response.status, 409);
  assert.equal(stale.error?.error, "conflict");
  const published = done(await client.POST("/v1/agents/{id}/publish", { params, body: { note: "first" } }));
  assert.deepEqual([published.status, published.published_version], ["active", 2]);
  const read = done(await client.GET("/v1/agents/{id}", { params }));
  assert.equal(read.name, "Eva 2");
  const versions = done(await client.GET("/v1/agents/{id}/versions", { params }));
  assert.deepEqual(versions.data.map((one) => [one.version, one.is_published]), [[2, true], [1, false]]);
  return read;
}

async function calls(agent: Agent): Promise<void> {
  const place = (to: string, idempotency: string) =>
    client.POST("/v1/calls", {
      params: { header: { "Idempotency-Key": idempotency } },
      body: { agent_id: agent.id, to, metadata: { name: "Ana", visits: 2 } },
    });
  const handles: string[] = [];
  for (const at of [1, 2, 3, 4, 5]) {
    const placed = done(await place(CUSTOMER, `call-${at}`));
    assert.equal(placed.status, "initiated");
    handles.unshift(placed.id);
  }
  const again = await place(CUSTOMER, "call-5");
  assert.equal(done(again).id, handles[0]);
  assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");
  const other = await place("+14155550199", "call-5");
  assert.equal(other.response.status, 409);
  assert.equal(other.error?.error, "idempotency_conflict");

  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = done(await client.GET("/v1/calls", { params: { query: { limit: 2, cursor, agent_id: agent.id } } }));
    assert(page.data.length <= 2);
    assert.equal(page.has_more, page.next_cursor !== null);
    seen.push(...page.data.map((call) => call.call_id));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  assert.deepEqual(seen, handles);

  for (const id of handles) {
    const params = { path: { id } };
    const call = await until("an ended call", async () => {
      const call = done(await client.GET("/v1/calls/{id}", { params }));
      return call.status === "initiated" ? undefined : call;
    });
    assert.equal(call.status, "completed");
    assert.equal(call.metadata.name, "Ana");
  }
  const ended = await client.POST("/v1/calls/{id}/hangup", { params: { path: { id: handles[0] ?? "" } } });
  assert.equal(ended.error?.error, "conflict");
}

async function recordings(): Promise<void> {
  const legacy = done(await client.GET("/v1/agents", { params: { query: { runtime: "legacy" } } })).data[0];
  assert(legacy);
  const placed = done(await client.POST("/v1/calls", { body: { agent_id: legacy.id, to: CUSTOMER } }));
  const params = { path: { id: placed.id.replace("call_", "") } };
  const conversation = await until("a recording", async () => {
    const found = done(await client.GET("/v1/conversations/{id}", { params }));
    return found.has_audio ? found : undefined;
  });
  assert(conversation.transcript.length > 0);
  const turns = done(await client.GET("/v1/conversations/{id}/turns", { params }));
  assert.deepEqual(turns.data, conversation.transcript);
  const audio = await client.GET("/v1/conversations/{id}/audio", { params, parseAs: "arrayBuffer" });
  assert.equal(Buffer.from(done(audio)).subarray(0, 4).toString(), "RIFF");
  const range = { ...params, header: { Range: "bytes=0-3" } };
  const part = await client.GET("/v1/conversations/{id}/audio", { params: range, parseAs: "text" });
  assert.deepEqual([part.response.status, done(part)], [206, "RIFF"]);
  const events = done(await client.GET("/v1/conversations/{id}/events", { params, parseAs: "text" }));
  assert(events.includes("event: turn") && events.includes("event: state"));
}

async function knowledge(): Promise<void> {
  const folder = done(await client.POST("/v1/knowledge/folders", { body: { name: "Rooms" } }));
  const uploaded = done(
    await client.POST("/v1/knowledge/documents", {
      // A file has no type of its own in JSON.
      body: { file: "# Pool\n\nThe pool opens at nine.\n", folder_id: folder.id },
      bodySerializer: (body) => {
        const form = new FormData();
        for (const [name, value] of Object.entries(body ?? {})) {
          if (name !== "file") form.append(name, String(value));
        }
        form.append("file", new Blob([body && "file" in body ? body.file : ""]), "pool.md");
        return form;
      },
    }),
  );
  assert.deepEqual([uploaded.source, uploaded.folder_id], ["file", folder.id]);
  const params = { path: { id: uploaded.id } };
  const document = await until("a document that was read", async () => {
    const found = done(await client.GET("/v1/knowledge/documents/{id}", { params }));
    return found.status === "processing" ? undefined : found;
  });
  assert.deepEqual([document.status, document.error], ["ready", null]);
  const content = done(await client.GET("/v1/knowledge/documents/{id}/content", { params, parseAs: "text" }));
  assert(content.includes("The pool opens at nine."));
  const body = { query: "When does the pool open?", doc_ids: [uploaded.id] };
  const found = done(await client.POST("/v1/knowledge/search", { body }));
  assert.equal(found.data[0]?.document_id, uploaded.id);
  const removed = done(await client.DELETE("/v1/knowledge/documents/{id}", { params }));
  assert.deepEqual([removed.deleted, removed.agents_affected], [true, []]);
}

async function webhooks(): Promise<void> {
  const body = { url: "https://example.com/hook", description: "Ours" };
  const made = done(await client.POST("/v1/webhooks", { body }));
  assert(made.secret.startsWith("whsec_"));
  const params = { path: { id: made.id } };
  const delivery = done(await client.POST("/v1/webhooks/{id}/test", { params, body: { type: "call.failed" } }));
  const story = done(await client.GET("/v1/webhooks/deliveries/{id}", { params: { path: { id: delivery.id } } }));
  assert.equal(story.payload?.type, "call.failed");
  const disabled = done(await client.PATCH("/v1/webhooks/{id}", { params, body: { status: "disabled" } }));
  assert.equal(disabled.status, "disabled");
  assert.equal(done(await client.DELETE("/v1/webhooks/{id}", { params })).deleted, true);
  const gone = await client.GET("/v1/webhooks/{id}", { params });
  assert.equal(gone.error?.error, "not_found");
}

async function batches(): Promise<void> {
  const legacy = done(await client.GET("/v1/agents", { params: { query: { runtime: "legacy" } } })).data[0];
  assert(legacy);
  const recipients = [{ to: CUSTOMER, metadata: { name: "Ana" } }, { to: "+14155550124" }];
  const body = { name: "Spring", agent_id: legacy.id, recipients, scheduled_at: "2099-01-01" };
  const made = done(await client.POST("/v1/batch-calls", { body }));
  assert.deepEqual([made.status, made.counts.total], ["scheduled", 2]);
  const params = { path: { id: made.id } };
  const listed = done(await client.GET("/v1/batch-calls/{id}/recipients", { params }));
  assert.deepEqual(listed.data.map((one) => one.to), recipients.map((one) => one.to));
  assert.equal(done(await client.POST("/v1/batch-calls/{id}/cancel", { params })).status, "cancelled");
}

async function lists(): Promise<void> {
  assert.equal(done(await client.GET("/v1/me")).account.plan, "scale");
  assert.equal(done(await client.GET("/v1/billing/plan")).plan, "scale");
  assert(done(await client.GET("/v1/billing/credits")).balance_credits > 0);
  for (const path of [
    "/v1/agents",
    "/v1/agents/tools",
    "/v1/batch-calls",
    "/v1/billing/invoices",
    "/v1/billing/transactions",
    "/v1/billing/usage",
    "/v1/calls",
    "/v1/conversations",
    "/v1/integrations",
    "/v1/knowledge/documents",
    "/v1/knowledge/folders",
    "/v1/logs",
    "/v1/models",
    "/v1/phone-numbers",
    "/v1/team/members",
    "/v1/voices",
    "/v1/webhooks",
    "/v1/webhooks/deliveries",
    "/v1/webhooks/events",
  ] as const) {
    const list = done(await client.GET(path, { params: { query: { limit: 3 } } }));
    assert(list.data.length <= 3 && typeof list.has_more === "boolean", path);
  }
  assert.equal(done(await client.GET("/v1/team/members")).seats.used, 1);
}

async function errors(): Promise<void> {
  const models = await anyone.GET("/v1/models", { params: { query: { kind: "llm" } } });
  assert(done(models).data.some((model) => model.id === "scripted"));
  const nobody = await anyone.GET("/v1/me");
  assert.deepEqual([nobody.response.status, nobody.error?.error], [401, "unauthorized"]);
  const bad = await client.POST("/v1/calls", { body: { agent_id: "x", to: "no number" } });
  assert.deepEqual([bad.response.status, bad.error?.error], [400, "invalid_body"]);
  assert.equal(bad.error?.request_id, bad.response.headers.get("X-Request-Id"));
  const unknown = await client.POST("/v1/calls", { body: { agent_id: "x", to: CUSTOMER } });
  assert.deepEqual([unknown.response.status, unknown.error?.error], [403, "agent_not_found"]);
  const query = await client.GET("/v1/calls", { params: { query: { limit: 101 } } });
  assert.equal(query.error?.error, "invalid_query");
}

await errors();
await calls(await agents());
await recordings();
await knowledge();
await webhooks();
await batches();
await lists();
console.log(`${count} requests, all as described`);
