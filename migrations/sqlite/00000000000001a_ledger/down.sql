-- What names a conversation that is gone names none.
CREATE TABLE ledger_bound (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    amount_credits INTEGER NOT NULL,
    balance_after_credits INTEGER NOT NULL,
    description TEXT NOT NULL,
    conversation_id BLOB REFERENCES conversations (id),
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO ledger_bound (id, account_id, seq, type, amount_credits, balance_after_credits, description, conversation_id, created_at)
    SELECT id, account_id, seq, type, amount_credits, balance_after_credits, description, (SELECT c.id FROM conversations c WHERE c.id = ledger.conversation_id), created_at FROM ledger;
DROP TABLE ledger;
ALTER TABLE ledger_bound RENAME TO ledger;
CREATE UNIQUE INDEX ledger_page ON ledger (account_id, seq);
CREATE UNIQUE INDEX ledger_debit ON ledger (conversation_id) WHERE type = 'debit';
