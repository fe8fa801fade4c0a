"""Uses the installed package on a running server, through the proxy of faults.py: python use.py VECTORS URL KEY"""

import asyncio
import datetime
import http.server
import io
import json
import os
import pathlib
import queue
import re
import runpy
import sys
import threading
import time
import uuid

import httpx

from offhook import ApiConnectionError, ApiError, AsyncOffhook, File, Offhook, WebhookSignatureError, construct_event
from offhook.models import (AgentStatus, CreateAgent, CreateBatchCall, CreateDocument, CreateFolder, CreatePhoneNumber,
                            CreateWebhook, ListAgentsRuntime, PlaceCall, PublishAgent, RotateSecret,
                            SearchKnowledge, TestWebhook, UpdateAgent, UploadDocument)

CUSTOMER = "+14155550123"

vectors, url, key = sys.argv[1:]
os.environ.update(OFFHOOK_API_URL=url, OFFHOOK_API_KEY=key)
count, waits = 0, []


class Counting(httpx.HTTPTransport):
    def handle_request(self, request):
        global count
        count += 1
        return super().handle_request(request)


def observed(*given, **more):
    """Counts its requests, and notes the seconds that it would wait."""
    return Offhook(*given, transport=Counting(), sleep=waits.append, **more)


offhook = observed()


def refused(operation, status, code, *path, **more):
    try:
        operation(*path, **more)
    except ApiError as error:
        assert (error.status, error.code) == (status, code) and error.message, vars(error)
        return error
    raise AssertionError(f"no {code}")


def broken(operation, *path, **more):
    try:
        operation(*path, **more)
    except ApiConnectionError as error:
        assert isinstance(error.__cause__, httpx.RequestError)
        return error
    raise AssertionError("no fault")


def until(what, look):
    for _ in range(400):
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it never came to this: {what}")


def meet(*faults):
    """What happens to the next requests."""
    waits.clear()
    httpx.put(f"{url}/faults", json=faults)


def keys():
    """The idempotency keys of the requests since then."""
    return [request["key"] for request in httpx.get(f"{url}/faults").json()]


def agents():
    config = {"system_prompt": "You are Eva.", "first_message": "Hello {{name}}.",
              "llm": {"provider": "scripted", "model": "scripted"}, "dynamic_variables": {"name": {"default": "you"}}}
    made = offhook.create_agent(body=CreateAgent.from_dict({"name": "Eva", "language": "en", "config": config}))
    assert made.status == "draft" and isinstance(made.created_at, datetime.datetime)
    body = UpdateAgent.from_dict({"name": "Eva 2", "config": {"llm": {"temperature": 0.5}}, "expected_version": 1})
    assert offhook.update_agent(made.id, body=body).current_version == 2
    refused(offhook.update_agent, 409, "conflict", made.id, body=body)
    published = offhook.publish_agent(made.id, body=PublishAgent(note="first"))
    assert (published.status, published.published_version) == ("active", 2)
    assert offhook.get_agent(made.id).name == "Eva 2"
    # A value that a later version of the service has is no fault.
    assert AgentStatus("retired") == "retired" and AgentStatus("active") is AgentStatus.ACTIVE
    return made.id


def calls(agent):
    body = PlaceCall.from_dict({"agent_id": agent, "to": CUSTOMER, "metadata": {"name": "Ana", "visits": 2}})
    handles = [offhook.place_call(body=body, idempotency_key=f"call-{at}").id for at in range(5)]
    assert offhook.place_call(body=body, idempotency_key="call-4").id == handles[-1]
    other = PlaceCall(agent_id=agent, to="+14155550199")
    refused(offhook.place_call, 409, "idempotency_conflict", body=other, idempotency_key="call-4")

    meet()
    seen = [call.call_id for call in offhook.paginate(offhook.list_calls, limit=2, agent_id=agent)]
    assert seen == handles[::-1] and len(keys()) == 3, (seen, handles)

    def ended(handle):
        call = offhook.get_call(handle)
        return call if call.status != "initiated" else None

    for handle in handles:
        call = until("an ended call", lambda: ended(handle))
        assert call.status == "completed" and call.metadata["name"] == "Ana"
    refused(offhook.hang_up_call, 409, "conflict", handles[0])


def placed(agent, to):
    return [call.call_id for call in offhook.list_calls(agent_id=agent, phone=to).data]


def faults(agent):
    # The service has placed the call each time that the connection broke: it is one call.
    meet("reset", "cut", "garbage")
    body = PlaceCall(agent_id=agent, to="+14155550101")
    call = offhook.place_call(body=body)
    sent = keys()
    assert len(sent) == 4 and sent[0] and set(sent) == {sent[0]}, sent
    assert all(0.25 * 2**at <= wait <= 0.5 * 2**at for at, wait in enumerate(waits)), waits
    assert placed(agent, body.to) == [call.id]
    assert offhook.place_call(body=body).id != call.id

    # Retries end, and the last error is what the caller sees.
    body = PlaceCall(agent_id=agent, to=CUSTOMER)
    meet("503", "503", "503", "503")
    assert refused(offhook.place_call, 503, "service_unavailable", body=body).retry_after == 5
    assert waits == [5, 5, 5] and len(keys()) == 4
    once = observed(max_retries=1)
    meet("502", "reset")
    broken(once.get_agent, agent)
    meet("502", "502")
    refused(once.get_agent, 502, "unexpected_response", agent)
    meet("429 for an hour")
    assert refused(offhook.get_me, 429, "rate_limit_exceeded").retry_after == 3600
    assert waits == [] and len(keys()) == 1

    # What may have been done, and would be done twice, is not sent again; what was turned away is.
    def named(name):
        return CreateAgent(name=name, language="en")

    for fault in ("reset", "cut"):
        meet(fault)
        assert broken(offhook.create_agent, body=named(fault)).sent
        assert len(keys()) == 1 and len(offhook.list_agents(q=fault).data) == 1
    meet("garbage")
    refused(offhook.create_agent, 200, "unexpected_response", body=named("garbage"))
    meet("503")
    refused(offhook.create_agent, 503, "service_unavailable", body=named("unavailable"))
    assert waits == [] and keys() == [None]
    meet("429", "503 uncounted", "409")
    offhook.create_agent(body=named("patient"))
    assert waits == [7, 5, 1]
    waits.clear()
    assert not broken(observed(base_url="http://127.0.0.1:1").create_agent, body=named("nowhere")).sent
    assert len(waits) == 3

    meet("silence")
    assert observed(timeout=1).get_agent(agent).name == "Eva 2"
    for arguments in ({"api_key": ""}, {}):
        os.environ.pop("OFFHOOK_API_KEY", None)
        try:
            Offhook(**arguments)
            raise AssertionError("no key is needed")
        except ValueError:
            pass
    os.environ["OFFHOOK_API_KEY"] = key
    try:
        offhook.get_call("..")
        raise AssertionError("another resource was read")
    except ValueError:
        pass


async def coroutines(agent):
    async def sleep(seconds):
        waits.append(seconds)

    async with AsyncOffhook(sleep=sleep) as offhook:
        meet("reset", "cut", "429")
        call = await offhook.place_call(body=PlaceCall(agent_id=agent, to="+14155550102"))
        sent = keys()
        assert len(sent) == 4 and sent[0] and set(sent) == {sent[0]} and waits[2] == 7, (sent, waits)
        assert placed(agent, "+14155550102") == [call.id]
        seen = [call.call_id async for call in offhook.paginate(offhook.list_calls, limit=2, agent_id=agent)]
        assert len(seen) == len(set(seen)) > 4
        meet("reset")
        try:
            await offhook.create_agent(body=CreateAgent(name="twice", language="en"))
            raise AssertionError("no fault")
        except ApiConnectionError as error:
            assert error.sent and len(keys()) == 1


def legacy_agent():
    return offhook.list_agents(runtime=ListAgentsRuntime.LEGACY).data[0].id


def recordings():
    made = offhook.place_call(body=PlaceCall(agent_id=legacy_agent(), to=CUSTOMER))
    conversation = made.id.removeprefix("call_")

    def recorded():
        found = offhook.get_conversation(conversation)
        return found if found.has_audio else None

    found = until("a recording", recorded)
    assert found.transcript and found.transcript[0].text
    assert offhook.get_recording(conversation).payload.read(4) == b"RIFF"
    assert offhook.get_recording(conversation, range_="bytes=0-3").payload.read() == b"RIFF"
    with offhook.http.stream("GET", f"/v1/conversations/{conversation}/events") as events:
        assert "event: turn" in list(events.iter_lines())


def knowledge():
    folder = offhook.create_folder(body=CreateFolder(name="Rooms"))
    refused(offhook.create_folder, 409, "conflict", body=CreateFolder(name="Rooms"))
    content = io.BytesIO(b"# Pool\n\nThe pool opens at nine.\n")
    # A file that was read for the first attempt is sent whole in the next.
    meet("429")
    upload = UploadDocument(file=File(payload=content, file_name="pool.md"), folder_id=folder.id)
    uploaded = offhook.create_document(body=upload)
    assert (uploaded.source, uploaded.folder_id) == ("file", folder.id) and waits == [7], uploaded
    text = offhook.create_document(body=CreateDocument(name="Bar", text="The bar opens at noon."))

    def read(id):
        document = offhook.get_document(id)
        return document if document.status != "processing" else None

    for id in (uploaded.id, text.id):
        document = until("a document that was read", lambda: read(id))
        assert document.status == "ready" and document.error is None, document
    assert "The pool opens at nine." in offhook.get_document_content(uploaded.id)
    found = offhook.search_knowledge(body=SearchKnowledge(query="When does the pool open?", doc_ids=[uploaded.id]))
    assert found.data[0].document_id == uploaded.id
    removed = offhook.delete_document(uploaded.id)
    assert removed.deleted and removed.agents_affected == []


def webhooks():
    received = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()
            received.put((body, self.headers["X-Service-Signature"]))

        def log_message(self, *_):
            pass

    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    body = CreateWebhook(url=f"http://127.0.0.1:{receiver.server_port}/", description="Ours")
    made = offhook.create_webhook(body=body)

    def test():
        offhook.test_webhook(made.id, body=TestWebhook.from_dict({"type": "call.failed"}))
        return received.get(timeout=20)

    def untrusted(*given, **more):
        try:
            construct_event(*given, **more)
        except WebhookSignatureError:
            return
        raise AssertionError(f"{given} is trusted")

    body, signature = test()
    assert construct_event(body, signature, made.secret)["type"] == "call.failed"
    sent_at = int(re.search(r"t=(\d+)", signature)[1])
    construct_event(body, signature, made.secret, now=sent_at + 300)
    untrusted(body, signature, made.secret, now=sent_at + 301)
    untrusted(body, signature, made.secret, now=sent_at - 2, tolerance=1)
    untrusted(body + b" ", signature, made.secret)
    untrusted(body, signature.replace(f"t={sent_at}", f"t={sent_at + 1}"), made.secret)
    untrusted(body, signature, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
    for header in (None, "", "t", f"t={sent_at}", f"{signature},t=1", f"{signature}0", f"{signature},x"):
        untrusted(body, header, made.secret)

    rotated = offhook.rotate_webhook_secret(made.id, body=RotateSecret(overlap_hours=24)).secret
    body, signature = test()
    assert signature.count("v1=") == 2
    for secret in (made.secret, rotated):
        construct_event(body, signature, secret)
    offhook.rotate_webhook_secret(made.id)
    body, signature = test()
    for secret in (made.secret, rotated):
        untrusted(body, signature, secret)

    for vector in json.loads(pathlib.Path(vectors).read_text()):
        for secret in vector["secrets"]:
            try:
                construct_event(vector["body"].encode(), vector["header"], secret, now=vector["t"])
            except json.JSONDecodeError:
                pass
    assert offhook.delete_webhook(made.id).deleted
    refused(offhook.get_webhook, 404, "not_found", made.id)


def batches():
    recipients = [{"to": CUSTOMER, "metadata": {"name": "Ana"}}, {"to": "+14155550124"}]
    body = CreateBatchCall.from_dict({"name": "Spring", "agent_id": legacy_agent(), "recipients": recipients,
                                      "scheduled_at": "2099-01-01"})
    meet("reset")
    made = offhook.create_batch(body=body)
    assert (made.status, made.counts.total) == ("scheduled", 2) and len(offhook.list_batches().data) == 1
    listed = offhook.paginate(offhook.list_batch_recipients, made.id, limit=1)
    assert [one.to for one in listed] == [one["to"] for one in recipients]
    assert offhook.cancel_batch(made.id).status == "cancelled"


def lists():
    assert offhook.get_me().account.plan == "scale"
    assert offhook.get_plan().engine_module is True
    assert offhook.get_credits().balance_credits > 0
    for operation in (offhook.list_transactions, offhook.list_usage, offhook.list_integrations, offhook.list_logs,
                      offhook.list_voices, offhook.list_event_types, offhook.list_phone_numbers, offhook.list_models):
        assert len(operation(limit=3).data) <= 3
    assert offhook.list_team_members().seats.used == 1
    body = CreatePhoneNumber(phone_number=f"+1500555{uuid.uuid4().int % 9000 + 1000}")
    assert offhook.delete_phone_number(offhook.create_phone_number(body=body).id).deleted


def errors():
    assert any(model.id == "scripted" for model in offhook.list_models().data)
    refused(observed("service_live_0").get_me, 401, "unauthorized")
    bad = refused(offhook.place_call, 400, "invalid_body", body=PlaceCall(agent_id="x", to="no number"))
    assert bad.request_id and bad.message.startswith("`to`"), bad.message
    refused(offhook.place_call, 403, "agent_not_found", body=PlaceCall(agent_id="x", to=CUSTOMER))
    refused(offhook.list_calls, 400, "invalid_query", limit=101)


def example(agent):
    """The program of the package's README."""
    os.environ["AGENT_ID"] = agent
    before = len(list(offhook.paginate(offhook.list_calls)))
    runpy.run_path(str(pathlib.Path(__file__).parent / "example.py"))
    assert len(list(offhook.paginate(offhook.list_calls))) == before + 1


errors()
agent = agents()
calls(agent)
faults(agent)
asyncio.run(coroutines(agent))
recordings()
knowledge()
webhooks()
batches()
lists()
example(agent)
print(f"{count} requests, all as described")
