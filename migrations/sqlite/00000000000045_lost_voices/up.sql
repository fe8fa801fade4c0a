-- Voices that were in account_voices and are the account's no more: agents that still name one must not have it from the
-- service's key, which may open it as well. A voice that is the account's again is there, and not here.
CREATE TABLE lost_account_voices (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    provider TEXT NOT NULL,
    voice_id TEXT NOT NULL,
    PRIMARY KEY (account_id, provider, voice_id)
) STRICT;
