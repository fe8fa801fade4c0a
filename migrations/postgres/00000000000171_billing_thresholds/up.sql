-- Further thresholds of an account's spending in a month, and one of its balance.
ALTER TABLE account_settings ADD COLUMN alert_credits_2 bigint;
ALTER TABLE account_settings ADD COLUMN alert_credits_3 bigint;
ALTER TABLE account_settings ADD COLUMN alert_balance bigint;

-- The thresholds that were passed in a month. A row is written with its event, so that each has one.
CREATE TABLE billing_alarms (
    account_id uuid NOT NULL REFERENCES accounts (id),
    month INTEGER NOT NULL,
    kind TEXT NOT NULL,
    credits bigint NOT NULL,
    passed_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, month, kind, credits)
);
