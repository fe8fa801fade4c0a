-- Private voices of single accounts, as their own credentials listed them when they were last asked with success; an
-- account's are read whole, and are few.
CREATE TABLE account_voices (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    voice_id TEXT NOT NULL,
    voice TEXT NOT NULL,
    PRIMARY KEY (account_id, provider, voice_id)
) STRICT;
