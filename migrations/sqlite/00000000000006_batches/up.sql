-- Batch calls. look_at is when the scheduler looks at a batch next; a batch that waits for nobody has the last instant.
CREATE TABLE batch_calls (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    agent_id BLOB NOT NULL REFERENCES agents (id),
    phone_number_id BLOB,
    key_id BLOB NOT NULL REFERENCES api_keys (id),
    status TEXT NOT NULL,
    paused_reason TEXT,
    scheduled_at INTEGER,
    total INTEGER NOT NULL,
    pending INTEGER NOT NULL CHECK (pending >= 0),
    dialing INTEGER NOT NULL CHECK (dialing >= 0),
    completed INTEGER NOT NULL CHECK (completed >= 0),
    failed INTEGER NOT NULL CHECK (failed >= 0),
    cancelled INTEGER NOT NULL CHECK (cancelled >= 0),
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    look_at INTEGER NOT NULL
) STRICT;
CREATE INDEX batch_calls_page ON batch_calls (account_id, created_at, id);
CREATE INDEX batch_calls_status ON batch_calls (account_id, status, created_at, id);
CREATE INDEX batch_calls_agent ON batch_calls (account_id, agent_id, created_at, id);
CREATE INDEX batch_calls_agent_status ON batch_calls (account_id, agent_id, status, created_at, id);
CREATE INDEX batch_calls_look ON batch_calls (look_at);

CREATE TABLE batch_recipients (
    id BLOB NOT NULL PRIMARY KEY,
    batch_id BLOB NOT NULL REFERENCES batch_calls (id),
    place INTEGER NOT NULL,
    to_number TEXT NOT NULL,
    metadata TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    conversation_id BLOB,
    failure_reason TEXT
) STRICT;
CREATE UNIQUE INDEX batch_recipients_place ON batch_recipients (batch_id, place);
CREATE INDEX batch_recipients_status ON batch_recipients (batch_id, status, place);

-- One call for each recipient and try (decision 8.5); it outlives the conversation, which retention deletes.
CREATE TABLE batch_tries (
    recipient_id BLOB NOT NULL REFERENCES batch_recipients (id),
    attempt INTEGER NOT NULL,
    conversation_id BLOB NOT NULL,
    PRIMARY KEY (recipient_id, attempt)
) STRICT;
CREATE UNIQUE INDEX batch_tries_conversation ON batch_tries (conversation_id);
