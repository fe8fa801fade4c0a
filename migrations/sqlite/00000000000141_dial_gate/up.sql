-- Whom an account may call: its rules as JSON, and whether any number is suppressed. Both are read with the account's row,
-- which every claim locks, so that a call is dialed or suppressed, in this order or in that.
ALTER TABLE accounts ADD COLUMN dialing_rules TEXT;
ALTER TABLE accounts ADD COLUMN has_suppressions INTEGER NOT NULL DEFAULT 0;

-- Numbers that an account does not call.
CREATE TABLE suppressions (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    number TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    -- From then on it may be called again.
    until INTEGER,
    -- In which the customer opted out.
    conversation_id BLOB,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX suppressions_number ON suppressions (account_id, number);
CREATE INDEX suppressions_page ON suppressions (account_id, created_at, id);

-- What the customer agreed to, as JSON; which rule refused the dial; whether the customer opted out.
ALTER TABLE conversations ADD COLUMN consent TEXT;
ALTER TABLE conversations ADD COLUMN blocked_by TEXT;
ALTER TABLE conversations ADD COLUMN opted_out INTEGER NOT NULL DEFAULT 0;
