-- The ledger is append-only: its rows outlive the conversations that they name, so they name them without a reference.
CREATE TABLE ledger_kept (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    seq bigint NOT NULL,
    type TEXT NOT NULL,
    amount_credits bigint NOT NULL,
    balance_after_credits bigint NOT NULL,
    description TEXT NOT NULL,
    conversation_id uuid,
    created_at timestamptz NOT NULL
);
INSERT INTO ledger_kept (id, account_id, seq, type, amount_credits, balance_after_credits, description, conversation_id, created_at)
    SELECT id, account_id, seq, type, amount_credits, balance_after_credits, description, conversation_id, created_at FROM ledger;
DROP TABLE ledger;
ALTER TABLE ledger_kept RENAME TO ledger;
CREATE UNIQUE INDEX ledger_page ON ledger (account_id, seq);
CREATE UNIQUE INDEX ledger_debit ON ledger (conversation_id) WHERE type = 'debit';
