-- What signs the requests to an agent's context URL.
CREATE TABLE agent_secrets (
    agent_id BLOB PRIMARY KEY REFERENCES agents (id),
    sealed BLOB NOT NULL
) STRICT;

-- What became of the request that a conversation began with.
CREATE TABLE conversation_contexts (
    conversation_id BLOB PRIMARY KEY REFERENCES conversations (id),
    at INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    result TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
