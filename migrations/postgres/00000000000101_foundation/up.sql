-- One row per account and per thing that it owns. Times are microseconds.
CREATE TABLE service_settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Running processes; a lease that has run out is a process that is gone.
CREATE TABLE nodes (
    id uuid NOT NULL PRIMARY KEY,
    has_redis boolean NOT NULL,
    started_at timestamptz NOT NULL,
    lease_expires_at timestamptz NOT NULL,
    -- Which Redis a process counts requests in, by the name that it found there: those of one database must agree.
    redis_id TEXT
);

CREATE TABLE accounts (
    id uuid NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    engine_module boolean,
    created_at timestamptz NOT NULL
);

CREATE TABLE members (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    joined_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX members_email ON members (account_id, email);
CREATE INDEX members_page ON members (account_id, joined_at, id);
CREATE INDEX members_person ON members (email);

CREATE TABLE api_keys (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest bytea NOT NULL,
    scopes TEXT NOT NULL,
    read_only boolean NOT NULL,
    monthly_credit_budget bigint,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX api_keys_digest ON api_keys (digest);
CREATE INDEX api_keys_account ON api_keys (account_id, created_at, id);

-- What a key has spent and holds in a UTC month (year * 12 + month - 1).
CREATE TABLE key_budgets (
    key_id uuid NOT NULL REFERENCES api_keys (id),
    month integer NOT NULL,
    spent bigint NOT NULL,
    reserved bigint NOT NULL,
    PRIMARY KEY (key_id, month)
);

CREATE TABLE wallets (
    account_id uuid NOT NULL PRIMARY KEY REFERENCES accounts (id),
    balance bigint NOT NULL,
    reserved bigint NOT NULL CHECK (reserved >= 0),
    last_seq bigint NOT NULL,
    -- What accounts pay and use. Months are year * 12 + month - 1, days those since 1970-01-01, both in UTC.
    last_entry_at timestamptz,
    -- Auto-refill, set by the operator: below the threshold so many credits are bought, for so many cents.
    refill_threshold bigint,
    refill_credits bigint,
    refill_cents bigint
);

CREATE TABLE agents (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    runtime TEXT NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT COLLATE "C" NOT NULL,
    language TEXT NOT NULL,
    status TEXT NOT NULL,
    provider_agent_id TEXT,
    legacy_config json,
    head_version integer NOT NULL,
    published_version integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX agents_page ON agents (account_id, created_at, id);
CREATE UNIQUE INDEX agents_provider_agent ON agents (account_id, provider_agent_id);
-- Each filter of the list of agents is served by an index, however rare its value.
CREATE INDEX agents_runtime ON agents (account_id, runtime, created_at, id);
CREATE INDEX agents_status ON agents (account_id, status, created_at, id);
CREATE INDEX agents_runtime_status ON agents (account_id, runtime, status, created_at, id);

CREATE TABLE agent_versions (
    agent_id uuid NOT NULL REFERENCES agents (id),
    version integer NOT NULL,
    config json NOT NULL,
    created_at timestamptz NOT NULL,
    published_at timestamptz,
    note TEXT,
    PRIMARY KEY (agent_id, version)
);

-- Room for what a call's turns and renewals change, on the page that it is on.
CREATE TABLE conversations (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    agent_id uuid NOT NULL REFERENCES agents (id),
    agent_ref TEXT NOT NULL,
    agent_version integer NOT NULL,
    key_id uuid REFERENCES api_keys (id),
    runtime TEXT NOT NULL,
    channel TEXT,
    voice boolean NOT NULL,
    state TEXT NOT NULL,
    status TEXT NOT NULL,
    from_number TEXT,
    to_number TEXT,
    customer_phone TEXT,
    metadata json NOT NULL,
    price_millicredits bigint NOT NULL,
    started_at timestamptz NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    answered_at timestamptz,
    ended_at timestamptz,
    duration_seconds bigint,
    credits bigint,
    summary TEXT,
    has_audio boolean NOT NULL,
    termination_reason TEXT,
    failure_reason TEXT,
    messages_count integer NOT NULL,
    last_seq integer NOT NULL,
    latency_turns integer,
    latency_p50_ms integer,
    latency_p95_ms integer,
    hangup_requested boolean NOT NULL,
    claim_id uuid,
    node_id uuid,
    lease_expires_at timestamptz,
    -- What ends a call whose owner died, in the network's own words; only while the call lasts.
    dialog TEXT
) WITH (fillfactor = 70);
CREATE INDEX conversations_page ON conversations (account_id, started_at, id);
CREATE INDEX conversations_voice ON conversations (account_id, started_at, id) WHERE voice;
CREATE INDEX conversations_agent ON conversations (account_id, agent_id, started_at, id);
CREATE INDEX conversations_agent_status ON conversations (account_id, agent_id, status, started_at, id);
CREATE INDEX conversations_status ON conversations (account_id, status, started_at, id);
CREATE INDEX conversations_channel ON conversations (account_id, channel, started_at, id);
-- PostgreSQL takes no order from an index behind `channel IS NULL`, so these rows have one of their own.
CREATE INDEX conversations_no_channel ON conversations (account_id, started_at, id) WHERE channel IS NULL;
CREATE INDEX conversations_customer ON conversations (account_id, customer_phone, started_at, id);
CREATE INDEX conversations_queued ON conversations (account_id, started_at, id) WHERE state = 'queued';
CREATE INDEX conversations_dialed ON conversations (account_id, to_number, started_at, id)
    WHERE to_number IS NOT NULL AND (customer_phone IS NULL OR to_number <> customer_phone);
CREATE INDEX conversations_claims ON conversations (account_id)
    WHERE state IN ('dialing', 'live', 'closing') AND voice;

-- What happened in a conversation, in order: turns (role, text) and states. Its numbers are the event stream's ids.
CREATE TABLE conversation_moments (
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    seq integer NOT NULL,
    at timestamptz NOT NULL,
    state TEXT,
    role TEXT,
    content TEXT,
    duration_ms integer,
    interrupted boolean,
    -- How long the customer waited for a spoken reply, step by step: a JSON object. NULL where nothing was measured.
    latency TEXT,
    PRIMARY KEY (conversation_id, seq)
);

CREATE TABLE idempotency_keys (
    account_id uuid NOT NULL REFERENCES accounts (id),
    operation TEXT NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    status integer NOT NULL,
    location TEXT NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, operation, idempotency_key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- What a call holds of its account's wallet until it is settled.
CREATE TABLE reservations (
    conversation_id uuid NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id uuid NOT NULL REFERENCES accounts (id),
    key_id uuid,
    month integer NOT NULL,
    credits bigint NOT NULL CHECK (credits >= 0)
);

CREATE TABLE events (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    conversation_id uuid REFERENCES conversations (id),
    type TEXT NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX events_terminal ON events (conversation_id) WHERE type <> 'call.initiated';
CREATE UNIQUE INDEX events_conversation ON events (conversation_id, type);

CREATE TABLE webhook_endpoints (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    url TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);
CREATE INDEX webhook_endpoints_page ON webhook_endpoints (account_id, created_at, id) WHERE deleted_at IS NULL;

-- The secret in force has no expires_at; one rotated out signs along until it expires.
CREATE TABLE webhook_secrets (
    id uuid NOT NULL PRIMARY KEY,
    endpoint_id uuid NOT NULL REFERENCES webhook_endpoints (id),
    prefix TEXT NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);
CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_id, created_at, id);

-- Written only when an endpoint's health changes.
CREATE TABLE webhook_endpoint_health (
    endpoint_id uuid NOT NULL PRIMARY KEY REFERENCES webhook_endpoints (id),
    first_failure_at timestamptz,
    exhausted_count integer NOT NULL
);

-- A claim changes no indexed column: room in the page keeps it from writing to every index.
CREATE TABLE deliveries (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    endpoint_id uuid NOT NULL REFERENCES webhook_endpoints (id),
    event_id uuid NOT NULL REFERENCES events (id),
    event_type TEXT NOT NULL,
    waits_for uuid,
    state TEXT NOT NULL,
    attempts_count integer NOT NULL,
    abandoned_count integer NOT NULL,
    next_attempt_at timestamptz,
    claim_id uuid,
    lease_expires_at timestamptz,
    created_at timestamptz NOT NULL
) WITH (fillfactor = 50);
-- The state comes first, so that first attempts are found without a walk over the repetitions that are due before them.
CREATE INDEX deliveries_due ON deliveries (state, endpoint_id, next_attempt_at) WHERE state IN ('pending', 'retrying');
CREATE INDEX deliveries_page ON deliveries (account_id, created_at, id);
CREATE INDEX deliveries_type ON deliveries (account_id, event_type, created_at, id);
CREATE INDEX deliveries_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_status_type ON deliveries (account_id, state, event_type, created_at, id);

-- Asked-for repetitions of a delivery: one attempt each, apart from the schedule.
CREATE TABLE resends (
    delivery_id uuid NOT NULL PRIMARY KEY REFERENCES deliveries (id),
    endpoint_id uuid NOT NULL,
    bulk boolean NOT NULL,
    requested_at timestamptz NOT NULL,
    claim_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX resends_endpoint ON resends (endpoint_id, bulk, requested_at);

-- Written when an attempt begins, and once more when it ends.
CREATE TABLE attempts (
    id uuid NOT NULL PRIMARY KEY,
    delivery_id uuid NOT NULL REFERENCES deliveries (id),
    number integer NOT NULL,
    at timestamptz NOT NULL,
    outcome TEXT NOT NULL,
    status_code integer,
    duration_ms integer,
    error TEXT,
    response_snippet TEXT
) WITH (fillfactor = 50);
CREATE INDEX attempts_delivery ON attempts (delivery_id);

CREATE TABLE audit_log (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX audit_log_account ON audit_log (account_id, at, id);

-- The ledger is append-only: its rows outlive the conversations that they name, so they name them without a reference.
CREATE TABLE ledger (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    seq bigint NOT NULL,
    type TEXT NOT NULL,
    amount_credits bigint NOT NULL,
    balance_after_credits bigint NOT NULL,
    description TEXT NOT NULL,
    conversation_id uuid,
    created_at timestamptz NOT NULL,
    -- The invoice that bills an entry.
    invoice_id uuid
);
CREATE UNIQUE INDEX ledger_page ON ledger (account_id, seq);
CREATE UNIQUE INDEX ledger_debit ON ledger (conversation_id) WHERE type = 'debit';
CREATE INDEX ledger_type ON ledger (account_id, type, seq);
-- created_at never falls as seq rises, so a period is a range of seq, and this finds its ends.
CREATE INDEX ledger_time ON ledger (account_id, created_at, seq);

-- Tools of an account. The values of an http tool's headers are sealed apart from its definition.
CREATE TABLE tools (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    definition json NOT NULL,
    headers bytea,
    revision integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX tools_name ON tools (account_id, name);
CREATE INDEX tools_page ON tools (account_id, created_at, id);

-- The tools of a version as they were when it was first published: a change or the deletion of a tool leaves them.
CREATE TABLE agent_version_tools (
    agent_id uuid NOT NULL,
    version integer NOT NULL,
    position integer NOT NULL,
    tool_id uuid NOT NULL,
    definition json NOT NULL,
    headers bytea,
    PRIMARY KEY (agent_id, version, position),
    FOREIGN KEY (agent_id, version) REFERENCES agent_versions (agent_id, version)
);

-- One level of folders. Whoever moves a document in or out changes documents_count, and so waits for a deletion.
CREATE TABLE knowledge_folders (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    documents_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX knowledge_folders_name ON knowledge_folders (account_id, name_folded);
CREATE INDEX knowledge_folders_page ON knowledge_folders (account_id, created_at, id);

-- A folder goes without its documents being looked for twice, so folder_id refers to it by word alone.
CREATE TABLE knowledge_documents (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    folder_id uuid,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    source TEXT NOT NULL,
    mime_type TEXT,
    url TEXT,
    size_bytes bigint,
    content_hash bytea,
    chunks_count integer NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    tries integer NOT NULL,
    claim_id uuid,
    lease_expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX knowledge_documents_page ON knowledge_documents (account_id, created_at, id);
CREATE INDEX knowledge_documents_status ON knowledge_documents (account_id, status, created_at, id);
CREATE INDEX knowledge_documents_folder ON knowledge_documents (account_id, folder_id, created_at, id);
CREATE INDEX knowledge_documents_folder_status ON knowledge_documents (account_id, folder_id, status, created_at, id);
CREATE INDEX knowledge_documents_root ON knowledge_documents (account_id, created_at, id) WHERE folder_id IS NULL;
CREATE INDEX knowledge_documents_root_status ON knowledge_documents (account_id, status, created_at, id)
    WHERE folder_id IS NULL;
CREATE INDEX knowledge_documents_queue ON knowledge_documents (account_id, created_at, id) WHERE status = 'processing';
-- All passages of an account are counted by each search.
CREATE INDEX knowledge_documents_ready ON knowledge_documents (account_id, chunks_count) WHERE status = 'ready';

-- What was sent, until its text is read.
CREATE TABLE knowledge_uploads (
    document_id uuid NOT NULL PRIMARY KEY REFERENCES knowledge_documents (id),
    content bytea NOT NULL
);

-- A text in passages; without the first `repeats` bytes of each they are the text.
CREATE TABLE knowledge_passages (
    document_id uuid NOT NULL REFERENCES knowledge_documents (id),
    ordinal integer NOT NULL,
    repeats integer NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (document_id, ordinal)
);

-- What a version answers from, by its first publication.
CREATE TABLE knowledge_pins (
    agent_id uuid NOT NULL REFERENCES agents (id),
    version integer NOT NULL,
    document_id uuid NOT NULL REFERENCES knowledge_documents (id),
    content_hash bytea,
    PRIMARY KEY (agent_id, version, document_id)
);
CREATE INDEX knowledge_pins_document ON knowledge_pins (document_id);

-- Deleted documents whose postings are still to go.
CREATE TABLE knowledge_gone (
    document_id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL,
    deleted_at timestamptz NOT NULL
);

-- Numbers that accounts call from. One belongs to one account.
CREATE TABLE phone_numbers (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    label TEXT NOT NULL,
    provider TEXT NOT NULL,
    agent_id uuid REFERENCES agents (id),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX phone_numbers_number ON phone_numbers (phone_number);
CREATE INDEX phone_numbers_page ON phone_numbers (account_id, created_at, id);
CREATE INDEX phone_numbers_agent ON phone_numbers (account_id, agent_id, created_at, id);

-- Credentials of accounts at providers, sealed under the master key.
CREATE TABLE provider_credentials (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    next_sync_at timestamptz NOT NULL,
    -- When the provider was last asked with this credential for what the account has there (agents, voices), and why it did not say;
    -- without an error it did.
    asked_at timestamptz,
    last_error TEXT
);
CREATE UNIQUE INDEX provider_credentials_account ON provider_credentials (account_id, provider);
CREATE INDEX provider_credentials_due ON provider_credentials (provider, next_sync_at);

-- What the provider said of a legacy agent when it was last asked.
CREATE TABLE legacy_agents (
    agent_id uuid NOT NULL PRIMARY KEY REFERENCES agents (id),
    account_id uuid NOT NULL REFERENCES accounts (id),
    seen_name TEXT NOT NULL,
    gone boolean NOT NULL
);
CREATE INDEX legacy_agents_account ON legacy_agents (account_id);

-- Batch calls. look_at is when the scheduler looks at a batch next; a batch that waits for nobody has the last instant.
CREATE TABLE batch_calls (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    agent_id uuid NOT NULL REFERENCES agents (id),
    phone_number_id uuid,
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
    look_at timestamptz NOT NULL,
    -- A batch that a member makes in the portal has no key.
    key_id uuid REFERENCES api_keys (id)
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

-- One call for each recipient and try; it outlives the conversation, which retention deletes.
CREATE TABLE batch_tries (
    recipient_id uuid NOT NULL REFERENCES batch_recipients (id),
    attempt integer NOT NULL,
    conversation_id uuid NOT NULL,
    PRIMARY KEY (recipient_id, attempt)
);
CREATE UNIQUE INDEX batch_tries_conversation ON batch_tries (conversation_id);

-- How many members an account has: kept with each change, so that the seats are read in the same time whether there is
-- one member or a million, and held by whoever takes a seat.
CREATE TABLE account_seats (
    account_id uuid NOT NULL PRIMARY KEY REFERENCES accounts (id),
    members bigint NOT NULL
);

-- One-time links to a team; one that is accepted or run out is deleted.
CREATE TABLE invitations (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    digest bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX invitations_digest ON invitations (digest);
CREATE UNIQUE INDEX invitations_email ON invitations (account_id, email);
CREATE INDEX invitations_pending ON invitations (account_id, expires_at);

-- What accounts have connected of the catalog; what has no row was never connected. The tokens by which it is used are sealed
-- for their `id`: new ones have another. `lapses_at`: until when the access token is good. `lease_expires_at`: until when
-- whoever has the claim renews them, and without a claim until when they rest, by the clock of leases.
CREATE TABLE integration_connections (
    account_id uuid NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    status TEXT NOT NULL,
    connected_at timestamptz,
    last_error TEXT,
    id uuid NOT NULL,
    sealed bytea,
    lapses_at timestamptz,
    claim_id uuid,
    lease_expires_at timestamptz,
    PRIMARY KEY (account_id, toolkit)
);
CREATE UNIQUE INDEX integration_connections_id ON integration_connections (id);

-- One an account and month: a draft while the month runs, open from its end.
CREATE TABLE invoices (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    month integer NOT NULL,
    number TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_cents bigint NOT NULL,
    lines_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    issued_at timestamptz
);
CREATE UNIQUE INDEX invoices_page ON invoices (account_id, month);
CREATE UNIQUE INDEX invoices_number ON invoices (number);

CREATE TABLE invoice_lines (
    invoice_id uuid NOT NULL REFERENCES invoices (id),
    position integer NOT NULL,
    ledger_id uuid,
    description TEXT NOT NULL,
    credits bigint,
    amount_cents bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (invoice_id, position)
);
CREATE UNIQUE INDEX invoice_lines_entry ON invoice_lines (ledger_id);

-- Months that an account has entered: its credits are given and its fee is billed once.
CREATE TABLE account_months (
    account_id uuid NOT NULL REFERENCES accounts (id),
    month integer NOT NULL,
    credits bigint NOT NULL,
    entered_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, month)
);

-- What ended conversations add up to, by the UTC day that they began; written in the transaction that ends one.
CREATE TABLE usage_days (
    account_id uuid NOT NULL REFERENCES accounts (id),
    day integer NOT NULL,
    calls bigint NOT NULL,
    conversations bigint NOT NULL,
    duration_seconds bigint NOT NULL,
    credits bigint NOT NULL,
    PRIMARY KEY (account_id, day)
);

-- What accounts have asked of the API in the last 30 days. Rows refer to nothing: they come in batches, and what they
-- name may be gone before them. status_class is status / 100.
CREATE TABLE request_logs (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    request_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_prefix TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    status integer NOT NULL,
    status_class integer NOT NULL,
    error TEXT,
    ip TEXT NOT NULL,
    duration_ms integer NOT NULL,
    created_at timestamptz NOT NULL,
    -- What a request made or was about: nothing for lists and the like, and for all that came before this was kept. The index
    -- holds what was asked to be made or done, and is read for the request that placed a call.
    resource TEXT,
    resource_id uuid,
    PRIMARY KEY (account_id, created_at, id)
);
CREATE INDEX request_logs_status ON request_logs (account_id, status, created_at, id);
CREATE INDEX request_logs_class ON request_logs (account_id, status_class, created_at, id);
CREATE INDEX request_logs_method ON request_logs (account_id, method, created_at, id);
CREATE INDEX request_logs_path ON request_logs (account_id, path, created_at, id);
CREATE INDEX request_logs_key ON request_logs (account_id, key_id, created_at, id);
CREATE INDEX request_logs_request ON request_logs (account_id, request_id, created_at, id);
CREATE INDEX request_logs_resource ON request_logs (account_id, resource_id, created_at, id)
    WHERE method = 'POST' AND resource_id IS NOT NULL;

-- Work that one process at a time does now and then: who is at it, and when it is due again.
CREATE TABLE jobs (
    name TEXT NOT NULL PRIMARY KEY,
    holder uuid,
    lease_expires_at timestamptz,
    due_at timestamptz NOT NULL
);

-- The voices that the providers listed when they were last asked with success. Processes keep them in memory, in the
-- list's order; service_settings has a row that changes with them.
CREATE TABLE voices (
    provider TEXT NOT NULL,
    voice_id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    gender TEXT,
    age TEXT,
    accent TEXT,
    language TEXT,
    languages json NOT NULL,
    locales json NOT NULL,
    description TEXT,
    use_case TEXT,
    preview_url TEXT,
    model_compat json NOT NULL,
    source TEXT NOT NULL,
    -- Who shares a voice of a provider's shared library: its owner is asked for when the voice is added to the workspace.
    owner_id TEXT,
    PRIMARY KEY (provider, voice_id)
);

-- How many days back each account could last see (NULL: for ever). While held_until has not come, nothing within
-- held_days is deleted: what a narrower window hides stays until then.
CREATE TABLE retention_windows (
    account_id uuid NOT NULL PRIMARY KEY REFERENCES accounts (id),
    days integer,
    held_days integer,
    held_until timestamptz
);

-- The number of the last turn that each account had at a kind of work ('read', 'embed').
CREATE TABLE knowledge_turns (
    work TEXT NOT NULL,
    account_id uuid NOT NULL,
    turn bigint NOT NULL,
    PRIMARY KEY (work, account_id)
);
CREATE INDEX knowledge_turns_last ON knowledge_turns (work, turn);

-- Documents whose passages are still to be embedded by a model. No reference: an order may outlive its document.
CREATE TABLE knowledge_embedding_jobs (
    document_id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL,
    model TEXT NOT NULL,
    tries integer NOT NULL,
    error TEXT,
    claim_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX knowledge_embedding_jobs_queue ON knowledge_embedding_jobs (model, account_id, document_id) WHERE tries < 3;

-- Vectors of the passages from ordinal on: per passage `dimension` signed bytes, parallel to the vector.
CREATE TABLE knowledge_embeddings (
    document_id uuid NOT NULL,
    model TEXT NOT NULL,
    ordinal integer NOT NULL,
    dimension integer NOT NULL,
    vectors bytea NOT NULL,
    PRIMARY KEY (document_id, model, ordinal)
);

-- Documents all of whose passages have vectors of this model.
CREATE TABLE knowledge_embedded (
    document_id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL,
    model TEXT NOT NULL,
    passages integer NOT NULL
);
CREATE INDEX knowledge_embedded_newest ON knowledge_embedded (account_id, model, document_id);

-- Private voices of single accounts, as their own credentials listed them when they were last asked with success; an
-- account's are read whole, and are few.
CREATE TABLE account_voices (
    account_id uuid NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    voice_id TEXT NOT NULL,
    voice json NOT NULL,
    PRIMARY KEY (account_id, provider, voice_id)
);

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
    lease_expires_at timestamptz,
    -- What the transcript will say of tools that are at work in a text conversation, should nobody hear what they answered: a
    -- JSON array of texts. Nothing while none is at work.
    tools_at_work TEXT
);
CREATE INDEX chat_sessions_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled AND origin <> 'whatsapp';
CREATE INDEX chat_sessions_whatsapp_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled AND origin = 'whatsapp';

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

-- People sign in with an e-mail address, in lower case, whatever accounts they are members of. The password is an argon2id hash;
-- one that was set with an invitation vouches for the accounts that invited, and for no other.
CREATE TABLE people (
    email TEXT NOT NULL PRIMARY KEY,
    password TEXT NOT NULL,
    changed_at timestamptz NOT NULL,
    by_invitation boolean NOT NULL
);

-- Who is signed in, by the digest of the cookie's token: as this member, in this account.
CREATE TABLE portal_sessions (
    digest bytea NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    account_id uuid NOT NULL REFERENCES accounts (id),
    member_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
);
CREATE INDEX portal_sessions_seen ON portal_sessions (seen_at);
CREATE INDEX portal_sessions_member ON portal_sessions (member_id);
CREATE INDEX portal_sessions_person ON portal_sessions (email);

-- One-time links with which a person sets a password.
CREATE TABLE sign_in_links (
    digest bytea NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    account_id uuid NOT NULL REFERENCES accounts (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_expiry ON sign_in_links (expires_at);
CREATE INDEX sign_in_links_person ON sign_in_links (email);

-- Attempts to sign in that have not succeeded, by the digest of an e-mail address or of a network address. A row is forgotten
-- when its window has ended.
CREATE TABLE sign_in_failures (
    digest bytea NOT NULL PRIMARY KEY,
    failures integer NOT NULL,
    blocked_until timestamptz,
    ends_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_end ON sign_in_failures (ends_at);

-- What ended calls add up to, by the UTC hour that they began, counted from 1970-01-01; written in the transaction that ends
-- one, so that a day's figures cost the same however many calls an account has.
CREATE TABLE usage_hours (
    account_id uuid NOT NULL REFERENCES accounts (id),
    hour integer NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (account_id, hour)
);

-- What the provider of the legacy agents has told of its own accord, by its own id of the call: each once, however often it
-- comes, and perhaps before that id is known here. Kept for a day: what is older is not believed when it comes again.
CREATE TABLE legacy_reports (
    account_id uuid NOT NULL REFERENCES accounts (id),
    provider_call_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    conversation_id uuid,
    failure_reason TEXT,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, provider_call_id, kind)
);
CREATE INDEX legacy_reports_conversation ON legacy_reports (conversation_id);
CREATE INDEX legacy_reports_received ON legacy_reports (received_at);

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

-- Consents that are being asked for, by the digest of the state that goes to the application and back: each is one
-- session's, and is deleted when it is used. Sealed: the verifier of the code.
CREATE TABLE integration_consents (
    id uuid NOT NULL PRIMARY KEY,
    digest bytea NOT NULL,
    session_digest bytea NOT NULL,
    account_id uuid NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    sealed bytea NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX integration_consents_digest ON integration_consents (digest);
CREATE INDEX integration_consents_account ON integration_consents (account_id, expires_at);
CREATE INDEX integration_consents_expiry ON integration_consents (expires_at);

-- What is to be extracted from an agent's conversations once they have ended. A change is a new revision, and the last one is
-- in force; without a definition nothing is extracted. Earlier ones stay while conversations wait that ended under them.
CREATE TABLE analysis_schemas (
    agent_id uuid NOT NULL REFERENCES agents (id),
    revision integer NOT NULL,
    definition json,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, revision)
);

-- What was extracted, or why nothing was; until then whose work it is. Ordered with the end of the conversation. Without a
-- claim, `lease_expires_at` is until when it is left alone after a failed try.
CREATE TABLE conversation_analyses (
    conversation_id uuid NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    revision integer NOT NULL,
    status TEXT NOT NULL,
    data json,
    error TEXT,
    completed_at timestamptz,
    tries integer NOT NULL,
    claim_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX conversation_analyses_waiting ON conversation_analyses (conversation_id) WHERE status = 'pending';
CREATE INDEX conversation_analyses_ordered ON conversation_analyses (agent_id, revision) WHERE status = 'pending';

-- Voices that were in account_voices and are the account's no more: agents that still name one must not have it from the
-- service's key, which may open it as well. A voice that is the account's again is there, and not here.
CREATE TABLE lost_account_voices (
    account_id uuid NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    voice_id TEXT NOT NULL,
    PRIMARY KEY (account_id, provider, voice_id)
);

-- The words of documents: in which passages each is (places: ordinal:impact …).
CREATE TABLE knowledge_postings (
    account_id uuid NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    document_id uuid NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (account_id, term, document_id)
);
-- By which a deleted document's words are found.
CREATE INDEX knowledge_postings_document ON knowledge_postings (document_id);
