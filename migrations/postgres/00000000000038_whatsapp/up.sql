-- What a customer and one of an account's numbers write each other on WhatsApp. The claim is of whoever answers and sends now;
-- `due_at` is when something is to be done next, null while nothing is. `told_in` is the conversation in which the customer
-- was told that only text is understood. No conversation is referenced: what is deleted with its window leaves this row.
CREATE TABLE whatsapp_threads (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    own_number TEXT NOT NULL,
    customer TEXT NOT NULL,
    phone_number_id TEXT NOT NULL,
    conversation_id uuid,
    told_in uuid,
    heard_at timestamptz NOT NULL,
    due_at timestamptz,
    claim_id uuid,
    node_id uuid,
    lease_expires_at timestamptz
);
CREATE UNIQUE INDEX whatsapp_threads_customer ON whatsapp_threads (account_id, own_number, customer);
CREATE INDEX whatsapp_threads_due ON whatsapp_threads (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX whatsapp_threads_heard ON whatsapp_threads (heard_at, id);

-- What customers sent, each message once, however often it is told of. Its text is here until the transcript has it.
CREATE TABLE whatsapp_received (
    account_id uuid NOT NULL REFERENCES accounts (id),
    wamid TEXT NOT NULL,
    thread_id uuid NOT NULL REFERENCES whatsapp_threads (id),
    kind TEXT NOT NULL,
    content TEXT,
    sent_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    is_waiting boolean NOT NULL,
    due_at timestamptz NOT NULL,
    tries integer NOT NULL,
    PRIMARY KEY (account_id, wamid)
);
CREATE INDEX whatsapp_received_waiting ON whatsapp_received (thread_id, sent_at, received_at) WHERE is_waiting;
CREATE INDEX whatsapp_received_old ON whatsapp_received (received_at, account_id, wamid) WHERE NOT is_waiting;
CREATE INDEX whatsapp_received_thread ON whatsapp_received (thread_id);

-- What was sent, or is to be: one row for each message that the customer gets, an answer may have several. Its text is here
-- until it has left. `answers` is the message that it answers.
CREATE TABLE whatsapp_sent (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    thread_id uuid NOT NULL,
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    answers TEXT NOT NULL,
    part integer NOT NULL,
    content TEXT,
    status TEXT NOT NULL,
    wamid TEXT,
    failure TEXT,
    tries integer NOT NULL,
    queued_at timestamptz NOT NULL,
    due_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX whatsapp_sent_answer ON whatsapp_sent (account_id, answers, part);
CREATE INDEX whatsapp_sent_waiting ON whatsapp_sent (thread_id, queued_at, part) WHERE status IN ('queued', 'sending');
CREATE INDEX whatsapp_sent_wamid ON whatsapp_sent (account_id, wamid);
CREATE INDEX whatsapp_sent_conversation ON whatsapp_sent (conversation_id, queued_at, part);

-- Conversations on WhatsApp are silent for longer before they end: whoever looks for silent ones of web pages does not wade
-- through them.
DROP INDEX chat_sessions_due;
CREATE INDEX chat_sessions_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled AND origin <> 'whatsapp';
CREATE INDEX chat_sessions_whatsapp_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled AND origin = 'whatsapp';
