-- What signs the requests to an agent's context URL.
CREATE TABLE agent_secrets (
    agent_id uuid PRIMARY KEY REFERENCES agents (id),
    sealed bytea NOT NULL
);

-- What became of the request that a conversation began with.
CREATE TABLE conversation_contexts (
    conversation_id uuid PRIMARY KEY REFERENCES conversations (id),
    at timestamptz NOT NULL,
    took_ms integer NOT NULL,
    result TEXT NOT NULL,
    detail TEXT NOT NULL
);
