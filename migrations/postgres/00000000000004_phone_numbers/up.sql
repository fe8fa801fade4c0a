-- Numbers that accounts call from. One belongs to one account (decision 6.6).
CREATE TABLE phone_numbers (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    phone_number TEXT NOT NULL,
    label TEXT NOT NULL,
    provider TEXT NOT NULL,
    agent_id uuid REFERENCES agents (id),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX phone_numbers_number ON phone_numbers (phone_number);
CREATE INDEX phone_numbers_page ON phone_numbers (account_id, created_at, id);
CREATE INDEX phone_numbers_agent ON phone_numbers (account_id, agent_id, created_at, id);
