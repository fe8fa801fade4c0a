-- Credentials of accounts at providers, sealed under the master key (decision 9).
CREATE TABLE provider_credentials (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_sync_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX provider_credentials_account ON provider_credentials (account_id, provider);
CREATE INDEX provider_credentials_due ON provider_credentials (provider, next_sync_at);

-- What the provider said of a legacy agent when it was last asked.
CREATE TABLE legacy_agents (
    agent_id BLOB NOT NULL PRIMARY KEY REFERENCES agents (id),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    seen_name TEXT NOT NULL,
    gone INTEGER NOT NULL
) STRICT;
CREATE INDEX legacy_agents_account ON legacy_agents (account_id);
