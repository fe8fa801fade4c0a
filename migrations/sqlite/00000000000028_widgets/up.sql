-- What an agent answers on web pages; one without a row answers nothing. The counts are of the minute and of the UTC day that
-- stand beside them: those of a later one are zero.
CREATE TABLE widgets (
    agent_id BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    enabled INTEGER NOT NULL,
    max_sessions_per_minute INTEGER NOT NULL,
    daily_credit_cap INTEGER,
    minute INTEGER NOT NULL,
    minute_sessions INTEGER NOT NULL,
    day INTEGER NOT NULL,
    day_credits INTEGER NOT NULL
) STRICT;

-- The origins whose pages may talk to the agent, in the order in which they were given.
CREATE TABLE widget_origins (
    agent_id BLOB NOT NULL REFERENCES agents (id),
    origin TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (agent_id, origin)
) STRICT;
CREATE INDEX widget_origins_origin ON widget_origins (origin, agent_id);

-- What a text conversation has besides the row of every conversation. Its claim is of whoever answers or closes it now.
CREATE TABLE chat_sessions (
    conversation_id BLOB NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    agent_id BLOB NOT NULL REFERENCES agents (id),
    origin TEXT NOT NULL,
    token_digest BLOB NOT NULL,
    token_expires_at INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    is_settled INTEGER NOT NULL,
    active_at INTEGER NOT NULL,
    held_day INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    claim_id BLOB,
    node_id BLOB,
    lease_expires_at INTEGER
) STRICT;
CREATE INDEX chat_sessions_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled;

-- Messages that came with an id of the client's: `seq` is the moment of the customer's words, `answered_seq` the last one of
-- the answer, once there is one.
CREATE TABLE chat_messages (
    conversation_id BLOB NOT NULL REFERENCES conversations (id),
    message_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    seq INTEGER NOT NULL,
    answered_seq INTEGER,
    PRIMARY KEY (conversation_id, message_id)
) STRICT;
