-- Batch calls. look_at is when the scheduler looks at a batch next; a batch that waits for nobody has the last instant.
CREATE TABLE batch_calls (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    agent_id uuid NOT NULL REFERENCES agents (id),
    phone_number_id uuid,
    key_id uuid NOT NULL REFERENCES api_keys (id),
    status TEXT NOT NULL,
    paused_reason TEXT,
    scheduled_at timestamptz,
    total integer NOT NULL,
    pending integer NOT NULL CHECK (pending >= 0),
    dialing integer NOT NULL CHECK (dialing >= 0),
    completed integer NOT NULL CHECK (completed >= 0),
    failed integer NOT NULL CHECK (failed >= 0),
    cancelled integer NOT NULL CHECK (cancelled >= 0),
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    look_at timestamptz NOT NULL
);
CREATE INDEX batch_calls_page ON batch_calls (account_id, created_at, id);
CREATE INDEX batch_calls_status ON batch_calls (account_id, status, created_at, id);
CREATE INDEX batch_calls_agent ON batch_calls (account_id, agent_id, created_at, id);
CREATE INDEX batch_calls_agent_status ON batch_calls (account_id, agent_id, status, created_at, id);
CREATE INDEX batch_calls_look ON batch_calls (look_at);

CREATE TABLE batch_recipients (
    id uuid NOT NULL PRIMARY KEY,
    batch_id uuid NOT NULL REFERENCES batch_calls (id),
    place integer NOT NULL,
    to_number TEXT NOT NULL,
    metadata json NOT NULL,
    status TEXT NOT NULL,
    attempt integer NOT NULL,
    conversation_id uuid,
    failure_reason TEXT
);
CREATE UNIQUE INDEX batch_recipients_place ON batch_recipients (batch_id, place);
CREATE INDEX batch_recipients_status ON batch_recipients (batch_id, status, place);

-- One call for each recipient and try (decision 8.5); it outlives the conversation, which retention deletes.
CREATE TABLE batch_tries (
    recipient_id uuid NOT NULL REFERENCES batch_recipients (id),
    attempt integer NOT NULL,
    conversation_id uuid NOT NULL,
    PRIMARY KEY (recipient_id, attempt)
);
CREATE UNIQUE INDEX batch_tries_conversation ON batch_tries (conversation_id);
