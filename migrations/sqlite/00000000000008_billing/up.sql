-- What accounts pay and use (decision 6.9). Months are year * 12 + month - 1, days those since 1970-01-01, both in UTC.

ALTER TABLE wallets ADD COLUMN last_entry_at INTEGER;
-- Auto-refill, set by the operator: below the threshold so many credits are bought, for so many cents.
ALTER TABLE wallets ADD COLUMN refill_threshold INTEGER;
ALTER TABLE wallets ADD COLUMN refill_credits INTEGER;
ALTER TABLE wallets ADD COLUMN refill_cents INTEGER;

-- The invoice that bills an entry.
ALTER TABLE ledger ADD COLUMN invoice_id BLOB;
CREATE INDEX ledger_type ON ledger (account_id, type, seq);
-- created_at never falls as seq rises, so a period is a range of seq, and this finds its ends.
CREATE INDEX ledger_time ON ledger (account_id, created_at, seq);

-- One an account and month: a draft while the month runs, open from its end.
CREATE TABLE invoices (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    month INTEGER NOT NULL,
    number TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    lines_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    issued_at INTEGER
) STRICT;
CREATE UNIQUE INDEX invoices_page ON invoices (account_id, month);
CREATE UNIQUE INDEX invoices_number ON invoices (number);

CREATE TABLE invoice_lines (
    invoice_id BLOB NOT NULL REFERENCES invoices (id),
    position INTEGER NOT NULL,
    ledger_id BLOB,
    description TEXT NOT NULL,
    credits INTEGER,
    amount_cents INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (invoice_id, position)
) STRICT;
CREATE UNIQUE INDEX invoice_lines_entry ON invoice_lines (ledger_id);

-- Months that an account has entered: its credits are given and its fee is billed once.
CREATE TABLE account_months (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    month INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    entered_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, month)
) STRICT;

-- What ended conversations add up to, by the UTC day that they began; written in the transaction that ends one.
CREATE TABLE usage_days (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    day INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    conversations INTEGER NOT NULL,
    duration_seconds INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    PRIMARY KEY (account_id, day)
) STRICT;
INSERT INTO usage_days (account_id, day, calls, conversations, duration_seconds, credits)
SELECT account_id, started_at / 86400000000, SUM(CASE WHEN voice THEN 1 ELSE 0 END), COUNT(*),
    SUM(COALESCE(duration_seconds, 0)), SUM(COALESCE(credits, 0))
FROM conversations WHERE state IN ('completed', 'failed') GROUP BY 1, 2;
