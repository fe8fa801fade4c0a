"""Uses the generated Python client on a running server: python use.py URL KEY"""

import datetime
import io
import sys
import time
import uuid

from offhook_client import AuthenticatedClient, Client
from offhook_client.api.agents import create_agent, get_agent, list_agents, publish_agent, update_agent
from offhook_client.api.batch_calls import cancel_batch, create_batch, list_batch_recipients
from offhook_client.api.billing import get_credits, get_plan, list_transactions, list_usage
from offhook_client.api.calls import get_call, hang_up_call, list_calls, place_call
from offhook_client.api.conversations import get_conversation, get_recording
from offhook_client.api.integrations import list_integrations
from offhook_client.api.knowledge import (create_document, create_folder, delete_document, get_document,
                                          get_document_content, search_knowledge)
from offhook_client.api.logs import list_logs
from offhook_client.api.me import get_me
from offhook_client.api.models import list_models
from offhook_client.api.phone_numbers import create_phone_number, delete_phone_number, list_phone_numbers
from offhook_client.api.team import list_team_members
from offhook_client.api.voices import list_voices
from offhook_client.api.webhooks import create_webhook, delete_webhook, get_webhook, list_event_types, test_webhook
from offhook_client.models import (CreateAgent, CreateBatchCall, CreateDocument, CreateFolder, CreatePhoneNumber,
                                   CreateWebhook, ListAgentsRuntime, PlaceCall, PublishAgent, SearchKnowledge,
                                   TestWebhook, UpdateAgent, UploadDocument)
from offhook_client.types import File

CUSTOMER = "+14155550123"

url, key = sys.argv[1:]
count = 0


def counted(_):
    global count
    count += 1


hooks = {"httpx_args": {"event_hooks": {"request": [counted]}}, "raise_on_unexpected_status": True}
anyone = Client(url, **hooks)
client = AuthenticatedClient(url, token=key, **hooks)


def done(operation, status, *path, **more):
    """What is in an answer with this status."""
    answer = operation.sync_detailed(*path, client=client, **more)
    assert answer.status_code == status, (operation.__name__, answer.status_code, answer.content)
    return answer.parsed


def refused(operation, status, code, *path, **more):
    """An error, typed by its status."""
    error = done(operation, status, *path, **more)
    assert error.error == code and error.message and isinstance(error.request_id, uuid.UUID), error


def until(what, look):
    for _ in range(400):
        found = look()
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it never came to this: {what}")


def agents():
    config = {"system_prompt": "You are Eva.", "first_message": "Hello {{name}}.",
              "llm": {"provider": "scripted", "model": "scripted"}, "dynamic_variables": {"name": {"default": "you"}}}
    made = done(create_agent, 201, body=CreateAgent.from_dict({"name": "Eva", "language": "en", "config": config}))
    assert made.status == "draft" and isinstance(made.created_at, datetime.datetime)
    body = UpdateAgent.from_dict({"name": "Eva 2", "config": {"llm": {"temperature": 0.5}}, "expected_version": 1})
    assert done(update_agent, 200, made.id, body=body).current_version == 2
    refused(update_agent, 409, "conflict", made.id, body=UpdateAgent.from_dict({"config": {}, "expected_version": 1}))
    published = done(publish_agent, 200, made.id, body=PublishAgent(note="first"))
    assert (published.status, published.published_version) == ("active", 2)
    assert done(get_agent, 200, made.id).name == "Eva 2"
    return made.id


def calls(agent):
    body = PlaceCall.from_dict({"agent_id": str(agent), "to": CUSTOMER, "metadata": {"name": "Ana", "visits": 2}})
    handles = [done(place_call, 201, body=body, idempotency_key=f"call-{at}").id for at in range(5)]
    again = place_call.sync_detailed(client=client, body=body, idempotency_key="call-4")
    assert again.parsed.id == handles[-1] and again.headers["Idempotent-Replayed"] == "true"
    other = PlaceCall(agent_id=str(agent), to="+14155550199")
    refused(place_call, 409, "idempotency_conflict", body=other, idempotency_key="call-4")
    seen, more = [], {}
    while True:
        page = done(list_calls, 200, limit=2, agent_id=agent, **more)
        assert len(page.data) <= 2 and page.has_more == (page.next_cursor is not None)
        seen += [call.call_id for call in page.data]
        if page.next_cursor is None:
            break
        more = {"cursor": page.next_cursor}
    assert seen == handles[::-1], (seen, handles)

    def ended(handle):
        call = done(get_call, 200, handle)
        return call if call.status != "initiated" else None

    for handle in handles:
        call = until("an ended call", lambda: ended(handle))
        assert call.status == "completed" and call.metadata["name"] == "Ana"
    refused(hang_up_call, 409, "conflict", handles[0])


def legacy_agent():
    return done(list_agents, 200, runtime=ListAgentsRuntime.LEGACY).data[0].id


def recordings():
    placed = done(place_call, 201, body=PlaceCall(agent_id=str(legacy_agent()), to=CUSTOMER))
    conversation = uuid.UUID(placed.id.removeprefix("call_"))

    def recorded():
        found = done(get_conversation, 200, conversation)
        return found if found.has_audio else None

    found = until("a recording", recorded)
    assert found.transcript and found.transcript[0].text
    assert done(get_recording, 200, conversation).payload.read(4) == b"RIFF"
    assert done(get_recording, 206, conversation, range_="bytes=0-3").payload.read() == b"RIFF"


def knowledge():
    folder = done(create_folder, 201, body=CreateFolder(name="Rooms"))
    refused(create_folder, 409, "conflict", body=CreateFolder(name="Rooms"))
    content = io.BytesIO(b"# Pool\n\nThe pool opens at nine.\n")
    upload = UploadDocument(file=File(payload=content, file_name="pool.md"), folder_id=folder.id)
    uploaded = done(create_document, 202, body=upload)
    assert (uploaded.source, uploaded.folder_id) == ("file", folder.id), uploaded
    text = done(create_document, 202, body=CreateDocument(name="Bar", text="The bar opens at noon."))

    def read(id):
        document = done(get_document, 200, id)
        return document if document.status != "processing" else None

    for id in (uploaded.id, text.id):
        document = until("a document that was read", lambda: read(id))
        assert document.status == "ready" and document.error is None, document
    assert "The pool opens at nine." in done(get_document_content, 200, uploaded.id)
    found = done(search_knowledge, 200, body=SearchKnowledge(query="When does the pool open?", doc_ids=[uploaded.id]))
    assert found.data[0].document_id == uploaded.id
    removed = done(delete_document, 200, uploaded.id)
    assert removed.deleted and removed.agents_affected == []


def webhooks():
    made = done(create_webhook, 201, body=CreateWebhook(url="https://example.com/hook", description="Ours"))
    assert made.secret.startswith("whsec_")
    delivery = done(test_webhook, 202, made.id, body=TestWebhook.from_dict({"type": "call.failed"}))
    assert delivery.status == "pending"
    assert done(delete_webhook, 200, made.id).deleted
    refused(get_webhook, 404, "not_found", made.id)


def batches():
    recipients = [{"to": CUSTOMER, "metadata": {"name": "Ana"}}, {"to": "+14155550124"}]
    body = CreateBatchCall.from_dict({"name": "Spring", "agent_id": str(legacy_agent()), "recipients": recipients,
                                      "scheduled_at": "2099-01-01"})
    made = done(create_batch, 202, body=body)
    assert (made.status, made.counts.total) == ("scheduled", 2)
    listed = done(list_batch_recipients, 200, made.id)
    assert [one.to for one in listed.data] == [one["to"] for one in recipients]
    assert done(cancel_batch, 200, made.id).status == "cancelled"


def lists():
    assert done(get_me, 200).account.plan == "scale"
    assert done(get_plan, 200).engine_module is True
    assert done(get_credits, 200).balance_credits > 0
    for operation in (list_transactions, list_usage, list_integrations, list_logs, list_voices, list_event_types,
                      list_phone_numbers, list_models):
        assert len(done(operation, 200, limit=3).data) <= 3
    assert done(list_team_members, 200).seats.used == 1
    number = done(create_phone_number, 201, body=CreatePhoneNumber(phone_number=f"+1500555{uuid.uuid4().int % 9000 + 1000}"))
    assert done(delete_phone_number, 200, number.id).deleted


def errors():
    assert any(model.id == "scripted" for model in list_models.sync(client=anyone).data)
    nobody = get_me.sync_detailed(client=anyone)
    assert nobody.status_code == 401 and nobody.parsed.error == "unauthorized"
    refused(place_call, 400, "invalid_body", body=PlaceCall(agent_id="x", to="no number"))
    refused(place_call, 403, "agent_not_found", body=PlaceCall(agent_id="x", to=CUSTOMER))
    refused(list_calls, 400, "invalid_query", limit=101)


errors()
calls(agents())
recordings()
knowledge()
webhooks()
batches()
lists()
print(f"{count} requests, all as described")
