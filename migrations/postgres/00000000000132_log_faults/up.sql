-- What refused requests were told, beside their entries: those of all others stay as small as they are.
CREATE TABLE request_log_faults (
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
);
-- The shape of their bodies, for accounts that ask for it; deleted earlier.
CREATE TABLE request_log_bodies (
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
);
ALTER TABLE account_settings ADD COLUMN keeps_error_bodies boolean NOT NULL DEFAULT false;
