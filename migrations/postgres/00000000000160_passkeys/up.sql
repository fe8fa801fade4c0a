-- Passkeys of people. `user_handle` is what authenticators know a person by: random bytes. `credential` has the public key
-- and the signature counter, in the library's own form.
CREATE TABLE passkeys (
    id uuid NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    credential_id bytea NOT NULL,
    user_handle bytea NOT NULL,
    name TEXT NOT NULL,
    credential TEXT NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_person ON passkeys (email);

-- Challenges that no authenticator has answered yet, by the digest of the browser's token; a row is deleted when it is read.
-- `source` is where it was asked for: its number of rows is limited.
CREATE TABLE passkey_challenges (
    digest bytea NOT NULL PRIMARY KEY,
    source bytea NOT NULL,
    state TEXT NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_source ON passkey_challenges (source, expires_at);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
