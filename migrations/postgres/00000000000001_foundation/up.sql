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
    lease_expires_at timestamptz NOT NULL
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
    last_seq bigint NOT NULL
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

CREATE TABLE agent_versions (
    agent_id uuid NOT NULL REFERENCES agents (id),
    version integer NOT NULL,
    config json NOT NULL,
    created_at timestamptz NOT NULL,
    published_at timestamptz,
    note TEXT,
    PRIMARY KEY (agent_id, version)
);

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
    lease_expires_at timestamptz
);
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
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    seq integer NOT NULL,
    at timestamptz NOT NULL,
    state TEXT,
    role TEXT,
    content TEXT,
    duration_ms integer,
    interrupted boolean,
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

-- Append-only. seq is taken under the wallet's lock, so the newest balance_after_credits is the balance.
CREATE TABLE ledger (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    seq bigint NOT NULL,
    type TEXT NOT NULL,
    amount_credits bigint NOT NULL,
    balance_after_credits bigint NOT NULL,
    description TEXT NOT NULL,
    conversation_id uuid REFERENCES conversations (id),
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX ledger_page ON ledger (account_id, seq);
CREATE UNIQUE INDEX ledger_debit ON ledger (conversation_id) WHERE type = 'debit';

CREATE TABLE events (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    conversation_id uuid REFERENCES conversations (id),
    type TEXT NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX events_initiated ON events (conversation_id) WHERE type = 'call.initiated';
CREATE UNIQUE INDEX events_terminal ON events (conversation_id) WHERE type <> 'call.initiated';

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
CREATE INDEX deliveries_status ON deliveries (account_id, state, created_at, id);
CREATE INDEX deliveries_type ON deliveries (account_id, event_type, created_at, id);
CREATE INDEX deliveries_event ON deliveries (event_id, endpoint_id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, id);

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
