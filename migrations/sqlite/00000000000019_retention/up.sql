-- A conversation that is deleted looks for its events by its id alone.
DROP INDEX events_initiated;
CREATE UNIQUE INDEX events_conversation ON events (conversation_id, type);

-- How many days back each account could last see (NULL: for ever). While held_until has not come, nothing within
-- held_days is deleted: what a narrower window hides stays until then.
CREATE TABLE retention_windows (
    account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
    days INTEGER,
    held_days INTEGER,
    held_until INTEGER
) STRICT;
