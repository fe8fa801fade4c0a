"""Uses the tools of models on a running server, with the protocol's own client: python tools.py URL KEY"""

import asyncio
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CUSTOMER = "+14155550123"

url, key = sys.argv[1:]
count = 0


async def use(client):
    async def called(tool, /, **arguments):
        global count
        count += 1
        result = await client.call_tool(tool, arguments, read_timeout_seconds=60)
        assert not result.is_error, (tool, result)
        return result.structured_content

    async def refused(words, tool, /, **arguments):
        result = await client.call_tool(tool, arguments)
        assert result.is_error and words in result.content[0].text, (tool, result)

    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"place_call", "publish_agent", "search_knowledge"} <= tools.keys(), sorted(tools)
    config = {"system_prompt": "say: Goodbye.", "first_message": "Hello.", "llm": {"provider": "scripted", "model": "scripted"}}
    agent = (await called("create_agent", name="Eva", language="en", config=config))["id"]
    await refused("agent_disabled", "place_call", agent_id=agent, to=CUSTOMER, idempotency_key="one")
    await called("publish_agent", id=agent)
    assert (await called("check_dials", to=CUSTOMER, agent_id=agent))["data"][0]["allowed"]
    placed = await called("place_call", agent_id=agent, to=CUSTOMER, idempotency_key="two")
    again = await called("place_call", agent_id=agent, to=CUSTOMER, idempotency_key="two")
    assert again == placed, (again, placed)
    ended = await called("wait_for_call", id=placed["id"], timeout_seconds=50)
    assert ended["status"] == "completed", ended
    read = await called("get_conversation", id=ended["conversation_id"])
    assert read["transcript"], read
    await refused("not_found", "get_agent", id="0190163d-8694-739b-aea5-966c26f8ad91")
    await refused("idempotency_key", "place_call", agent_id=agent, to=CUSTOMER)


async def main():
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport) as client:
            await use(client)
    print(f"{count} tools called")


asyncio.run(main())
