-- The second factor of a person: the sealed secret of their authenticator app. `last_step` is the time step of the last code
-- that was accepted, so that no code is accepted twice.
CREATE TABLE second_factors (
    email TEXT NOT NULL PRIMARY KEY,
    id BLOB NOT NULL,
    sealed BLOB NOT NULL,
    last_step INTEGER NOT NULL,
    begun_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX second_factors_id ON second_factors (id);

-- Codes for who has lost the app, by their digests. A row is deleted when its code is used.
CREATE TABLE recovery_codes (
    email TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (email, digest)
) STRICT;

-- Sign-ins that wait for a code, by the digest of a cookie's token. The password was the one set at `changed_at`.
CREATE TABLE half_sign_ins (
    digest BLOB NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    changed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX half_sign_ins_person ON half_sign_ins (email);
CREATE INDEX half_sign_ins_expiry ON half_sign_ins (expires_at);
