import json
import os
import time
import urllib.error
import urllib.request
import uuid

BASE = "https://offhook.example"
KEY = os.environ["OFFHOOK_KEY"]


def ask(method, path, body=None, **headers):
    request = urllib.request.Request(
        BASE + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"} | headers,
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        fault = json.load(refusal)
        raise SystemExit(f"{fault['error']}: {fault['message']} (request {fault['request_id']})")


# A retry with the same Idempotency-Key never dials twice.
once = {"Idempotency-Key": str(uuid.uuid4())}
body = {"agent_id": "AGENT_ID", "to": "+5215512345678", "metadata": {"name": "Ana"}}
handle = ask("POST", "/v1/calls", body, **once)["id"]

call = ask("GET", f"/v1/calls/{handle}")
while call["status"] == "initiated":
    time.sleep(2)
    call = ask("GET", f"/v1/calls/{handle}")
print(call["status"], call["summary"])
