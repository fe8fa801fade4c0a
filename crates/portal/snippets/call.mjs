import { randomUUID } from "node:crypto";

const base = "https://offhook.example";
const key = process.env.OFFHOOK_KEY;

const ask = async (method, path, body = undefined, headers = {}) => {
  const answer = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(`${said.error}: ${said.message} (request ${said.request_id})`);
  return said;
};

// A retry with the same Idempotency-Key never dials twice.
const once = { "Idempotency-Key": randomUUID() };
const body = { agent_id: "AGENT_ID", to: "+5215512345678", metadata: { name: "Ana" } };
const { id: handle } = await ask("POST", "/v1/calls", body, once);

let call = await ask("GET", `/v1/calls/${handle}`);
while (call.status === "initiated") {
  await new Promise((done) => setTimeout(done, 2000));
  call = await ask("GET", `/v1/calls/${handle}`);
}
console.log(call.status, call.summary);
