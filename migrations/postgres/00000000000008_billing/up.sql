-- What accounts pay and use (decision 6.9). Months are year * 12 + month - 1, days those since 1970-01-01, both in UTC.

ALTER TABLE wallets ADD COLUMN last_entry_at timestamptz;
-- Auto-refill, set by the operator: below the threshold so many credits are bought, for so many cents.
ALTER TABLE wallets ADD COLUMN refill_threshold bigint;
ALTER TABLE wallets ADD COLUMN refill_credits bigint;
ALTER TABLE wallets ADD COLUMN refill_cents bigint;

-- The invoice that bills an entry.
ALTER TABLE ledger ADD COLUMN invoice_id uuid;
CREATE INDEX ledger_type ON ledger (account_id, type, seq);
-- created_at never falls as seq rises, so a period is a range of seq, and this finds its ends.
CREATE INDEX ledger_time ON ledger (account_id, created_at, seq);

-- One an account and month: a draft while the month runs, open from its end.
CREATE TABLE invoices (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    month integer NOT NULL,
    number TEXT NOT NULL,
    status TEXT NOT NULL,
    amount_cents bigint NOT NULL,
    lines_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    issued_at timestamptz
);
CREATE UNIQUE INDEX invoices_page ON invoices (account_id, month);
CREATE UNIQUE INDEX invoices_number ON invoices (number);

CREATE TABLE invoice_lines (
    invoice_id uuid NOT NULL REFERENCES invoices (id),
    position integer NOT NULL,
    ledger_id uuid,
    description TEXT NOT NULL,
    credits bigint,
    amount_cents bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (invoice_id, position)
);
CREATE UNIQUE INDEX invoice_lines_entry ON invoice_lines (ledger_id);

-- Months that an account has entered: its credits are given and its fee is billed once.
CREATE TABLE account_months (
    account_id uuid NOT NULL REFERENCES accounts (id),
    month integer NOT NULL,
    credits bigint NOT NULL,
    entered_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, month)
);

-- What ended conversations add up to, by the UTC day that they began; written in the transaction that ends one.
CREATE TABLE usage_days (
    account_id uuid NOT NULL REFERENCES accounts (id),
    day integer NOT NULL,
    calls bigint NOT NULL,
    conversations bigint NOT NULL,
    duration_seconds bigint NOT NULL,
    credits bigint NOT NULL,
    PRIMARY KEY (account_id, day)
);
INSERT INTO usage_days (account_id, day, calls, conversations, duration_seconds, credits)
SELECT account_id, FLOOR(EXTRACT(EPOCH FROM started_at) / 86400), SUM(CASE WHEN voice THEN 1 ELSE 0 END), COUNT(*),
    SUM(COALESCE(duration_seconds, 0)), SUM(COALESCE(credits, 0))
FROM conversations WHERE state IN ('completed', 'failed') GROUP BY 1, 2;
