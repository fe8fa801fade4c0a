-- What an agent answers on web pages; one without a row answers nothing. The counts are of the minute and of the UTC day that
-- stand beside them: those of a later one are zero.
CREATE TABLE widgets (
    agent_id uuid NOT NULL PRIMARY KEY REFERENCES agents (id),
    account_id uuid NOT NULL REFERENCES accounts (id),
    enabled boolean NOT NULL,
    max_sessions_per_minute integer NOT NULL,
    daily_credit_cap bigint,
    minute bigint NOT NULL,
    minute_sessions integer NOT NULL,
    day integer NOT NULL,
    day_credits bigint NOT NULL
);

-- The origins whose pages may talk to the agent, in the order in which they were given.
CREATE TABLE widget_origins (
    agent_id uuid NOT NULL REFERENCES agents (id),
    origin TEXT NOT NULL,
    position integer NOT NULL,
    PRIMARY KEY (agent_id, origin)
);
CREATE INDEX widget_origins_origin ON widget_origins (origin, agent_id);

-- What a text conversation has besides the row of every conversation. Its claim is of whoever answers or closes it now.
CREATE TABLE chat_sessions (
    conversation_id uuid NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id uuid NOT NULL REFERENCES accounts (id),
    agent_id uuid NOT NULL REFERENCES agents (id),
    origin TEXT NOT NULL,
    token_digest bytea NOT NULL,
    token_expires_at timestamptz NOT NULL,
    is_open boolean NOT NULL,
    is_settled boolean NOT NULL,
    active_at timestamptz NOT NULL,
    held_day integer NOT NULL,
    answers integer NOT NULL,
    claim_id uuid,
    node_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX chat_sessions_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled;

-- Messages that came with an id of the client's: `seq` is the moment of the customer's words, `answered_seq` the last one of
-- the answer, once there is one.
CREATE TABLE chat_messages (
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    message_id TEXT NOT NULL,
    digest bytea NOT NULL,
    seq integer NOT NULL,
    answered_seq integer,
    PRIMARY KEY (conversation_id, message_id)
);
