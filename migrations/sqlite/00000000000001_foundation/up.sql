-- One row per account and per thing that it owns. Times are microseconds.

CREATE TABLE service_settings (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- Running processes; a lease that has run out is a process that is gone.
CREATE TABLE nodes (
    id BLOB NOT NULL PRIMARY KEY,
    has_redis INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    lease_expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    engine_module INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    joined_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX members_email ON members (account_id, email);
CREATE INDEX members_page ON members (account_id, joined_at, id);

CREATE TABLE api_keys (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    digest BLOB NOT NULL,
    scopes TEXT NOT NULL,
    read_only INTEGER NOT NULL,
    monthly_credit_budget INTEGER,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX api_keys_digest ON api_keys (digest);
CREATE INDEX api_keys_account ON api_keys (account_id, created_at, id);

-- What a key has spent and holds in a UTC month (year * 12 + month - 1).
CREATE TABLE key_budgets (
    key_id BLOB NOT NULL REFERENCES api_keys (id),
    month INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    reserved INTEGER NOT NULL,
    PRIMARY KEY (key_id, month)
) STRICT;

CREATE TABLE wallets (
    account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
    balance INTEGER NOT NULL,
    reserved INTEGER NOT NULL CHECK (reserved >= 0),
    last_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    runtime TEXT NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    language TEXT NOT NULL,
    status TEXT NOT NULL,
    provider_agent_id TEXT,
    legacy_config TEXT,
    head_version INTEGER NOT NULL,
    published_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_page ON agents (account_id, created_at, id);
CREATE UNIQUE INDEX agents_provider_agent ON agents (account_id, provider_agent_id);

CREATE TABLE agent_versions (
    agent_id BLOB NOT NULL REFERENCES agents (id),
    version INTEGER NOT NULL,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    published_at INTEGER,
    note TEXT,
    PRIMARY KEY (agent_id, version)
) STRICT;

CREATE TABLE conversations (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    agent_id BLOB NOT NULL REFERENCES agents (id),
    agent_ref TEXT NOT NULL,
    agent_version INTEGER NOT NULL,
    key_id BLOB REFERENCES api_keys (id),
    runtime TEXT NOT NULL,
    channel TEXT,
    voice INTEGER NOT NULL,
    state TEXT NOT NULL,
    status TEXT NOT NULL,
    from_number TEXT,
    to_number TEXT,
    customer_phone TEXT,
    metadata TEXT NOT NULL,
    price_millicredits INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    queued_at INTEGER NOT NULL DEFAULT 0,
    answered_at INTEGER,
    ended_at INTEGER,
    duration_seconds INTEGER,
    credits INTEGER,
    summary TEXT,
    has_audio INTEGER NOT NULL,
    termination_reason TEXT,
    failure_reason TEXT,
    messages_count INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    latency_turns INTEGER,
    latency_p50_ms INTEGER,
    latency_p95_ms INTEGER,
    hangup_requested INTEGER NOT NULL,
    claim_id BLOB,
    node_id BLOB,
    lease_expires_at INTEGER
) STRICT;
CREATE INDEX conversations_page ON conversations (account_id, started_at, id);
CREATE INDEX conversations_voice ON conversations (account_id, started_at, id) WHERE voice;
CREATE INDEX conversations_agent ON conversations (account_id, agent_id, started_at, id);
CREATE INDEX conversations_agent_status ON conversations (account_id, agent_id, status, started_at, id);
CREATE INDEX conversations_status ON conversations (account_id, status, started_at, id);
CREATE INDEX conversations_channel ON conversations (account_id, channel, started_at, id);
-- PostgreSQL takes no order from an index behind `channel IS NULL`, so these rows have one of their own.
CREATE INDEX conversations_no_channel ON conversations (account_id, started_at, id) WHERE channel IS NULL;
CREATE INDEX conversations_customer ON conversations (account_id, customer_phone, started_at, id);
CREATE INDEX conversations_dialed ON conversations (account_id, to_number, started_at, id)
    WHERE to_number <> customer_phone;
CREATE INDEX conversations_queued ON conversations (account_id, started_at, id) WHERE state = 'queued';
CREATE INDEX conversations_claimed ON conversations (account_id, lease_expires_at)
    WHERE state IN ('dialing', 'live', 'closing');

-- What happened in a conversation, in order: turns (role, text) and states. Its numbers are the event stream's ids.
CREATE TABLE conversation_moments (
    conversation_id BLOB NOT NULL REFERENCES conversations (id),
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    state TEXT,
    role TEXT,
    content TEXT,
    duration_ms INTEGER,
    interrupted INTEGER,
    PRIMARY KEY (conversation_id, seq)
) STRICT;

CREATE TABLE idempotency_keys (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    operation TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    status INTEGER NOT NULL,
    location TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, operation, idempotency_key)
) STRICT;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- What a call holds of its account's wallet until it is settled.
CREATE TABLE reservations (
    conversation_id BLOB NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    key_id BLOB,
    month INTEGER NOT NULL,
    credits INTEGER NOT NULL CHECK (credits >= 0)
) STRICT;

-- Append-only. seq is taken under the wallet's lock, so the newest balance_after_credits is the balance.
CREATE TABLE ledger (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    amount_credits INTEGER NOT NULL,
    balance_after_credits INTEGER NOT NULL,
    description TEXT NOT NULL,
    conversation_id BLOB REFERENCES conversations (id),
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX ledger_page ON ledger (account_id, seq);
CREATE UNIQUE INDEX ledger_debit ON ledger (conversation_id) WHERE type = 'debit';

CREATE TABLE events (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    conversation_id BLOB REFERENCES conversations (id),
    type TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_initiated ON events (conversation_id) WHERE type = 'call.initiated';
CREATE UNIQUE INDEX events_terminal ON events (conversation_id) WHERE type <> 'call.initiated';

CREATE TABLE webhook_endpoints (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    url TEXT NOT NULL,
    description TEXT,
    status TEXT NOT NULL,
    disabled_reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE INDEX webhook_endpoints_page ON webhook_endpoints (account_id, created_at, id) WHERE deleted_at IS NULL;

-- The secret in force has no expires_at; one rotated out signs along until it expires.
CREATE TABLE webhook_secrets (
    id BLOB NOT NULL PRIMARY KEY,
    endpoint_id BLOB NOT NULL REFERENCES webhook_endpoints (id),
    prefix TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) STRICT;
CREATE INDEX webhook_secrets_endpoint ON webhook_secrets (endpoint_id, created_at, id);

-- Written only when an endpoint's health changes.
CREATE TABLE webhook_endpoint_health (
    endpoint_id BLOB NOT NULL PRIMARY KEY REFERENCES webhook_endpoints (id),
    first_failure_at INTEGER,
    exhausted_count INTEGER NOT NULL
) STRICT;

CREATE TABLE deliveries (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    endpoint_id BLOB NOT NULL REFERENCES webhook_endpoints (id),
    event_id BLOB NOT NULL REFERENCES events (id),
    event_type TEXT NOT NULL,
    waits_for BLOB,
    state TEXT NOT NULL,
    attempts_count INTEGER NOT NULL,
    abandoned_count INTEGER NOT NULL,
    next_attempt_at INTEGER,
    claim_id BLOB,
    lease_expires_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
-- The state comes first, so that first attempts are found without a walk over the repetitions that are due before them.
CREATE INDEX deliveries_due ON deliveries (state, endpoint_id, next_attempt_at) WHERE state IN ('pending', 'retrying');
CREATE INDEX deliveries_page ON deliveries (account_id, created_at, id);
CREATE INDEX deliveries_status ON deliveries (account_id, state, created_at, id);
CREATE INDEX deliveries_type ON deliveries (account_id, event_type, created_at, id);
CREATE INDEX deliveries_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, id);

-- Asked-for repetitions of a delivery: one attempt each, apart from the schedule.
CREATE TABLE resends (
    delivery_id BLOB NOT NULL PRIMARY KEY REFERENCES deliveries (id),
    endpoint_id BLOB NOT NULL,
    bulk INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    claim_id BLOB,
    lease_expires_at INTEGER
) STRICT;
CREATE INDEX resends_endpoint ON resends (endpoint_id, bulk, requested_at);

CREATE TABLE attempts (
    id BLOB NOT NULL PRIMARY KEY,
    delivery_id BLOB NOT NULL REFERENCES deliveries (id),
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status_code INTEGER,
    duration_ms INTEGER,
    error TEXT,
    response_snippet TEXT
) STRICT;
CREATE INDEX attempts_delivery ON attempts (delivery_id);

CREATE TABLE audit_log (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_log_account ON audit_log (account_id, at, id);
