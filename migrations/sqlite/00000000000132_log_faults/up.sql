-- What refused requests were told, beside their entries: those of all others stay as small as they are.
CREATE TABLE request_log_faults (
    account_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
) STRICT, WITHOUT ROWID;
-- The shape of their bodies, for accounts that ask for it; deleted earlier.
CREATE TABLE request_log_bodies (
    account_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
) STRICT, WITHOUT ROWID;
ALTER TABLE account_settings ADD COLUMN keeps_error_bodies INTEGER NOT NULL DEFAULT 0;
