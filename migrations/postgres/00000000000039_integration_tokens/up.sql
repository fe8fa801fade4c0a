-- By what an account's toolkit is used, sealed for the row: each new connection has a row of its own. `lapses_at`: until
-- when the access token is good; `refresh_at`: when it is to be renewed, or until when whoever has the claim is at it.
CREATE TABLE integration_tokens (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    sealed bytea NOT NULL,
    lapses_at timestamptz,
    refresh_at timestamptz,
    claim_id uuid,
    tries integer NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX integration_tokens_toolkit ON integration_tokens (account_id, toolkit);
CREATE INDEX integration_tokens_due ON integration_tokens (refresh_at);

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
