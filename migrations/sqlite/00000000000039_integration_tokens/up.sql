-- By what an account's toolkit is used, sealed for the row: each new connection has a row of its own. `lapses_at`: until
-- when the access token is good; `refresh_at`: when it is to be renewed, or until when whoever has the claim is at it.
CREATE TABLE integration_tokens (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    sealed BLOB NOT NULL,
    lapses_at INTEGER,
    refresh_at INTEGER,
    claim_id BLOB,
    tries INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX integration_tokens_toolkit ON integration_tokens (account_id, toolkit);
CREATE INDEX integration_tokens_due ON integration_tokens (refresh_at);

-- Consents that are being asked for, by the digest of the state that goes to the application and back: each is one
-- session's, and is deleted when it is used. Sealed: the verifier of the code.
CREATE TABLE integration_consents (
    id BLOB NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    session_digest BLOB NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    sealed BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX integration_consents_digest ON integration_consents (digest);
CREATE INDEX integration_consents_account ON integration_consents (account_id, expires_at);
CREATE INDEX integration_consents_expiry ON integration_consents (expires_at);
