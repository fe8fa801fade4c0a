-- Numbers that accounts call from. One belongs to one account (decision 6.6).
CREATE TABLE phone_numbers (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    label TEXT NOT NULL,
    provider TEXT NOT NULL,
    agent_id BLOB REFERENCES agents (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX phone_numbers_number ON phone_numbers (phone_number);
CREATE INDEX phone_numbers_page ON phone_numbers (account_id, created_at, id);
CREATE INDEX phone_numbers_agent ON phone_numbers (account_id, agent_id, created_at, id);
