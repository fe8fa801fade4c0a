-- What ended calls add up to, by the UTC hour that they began, counted from 1970-01-01; written in the transaction that ends
-- one, so that a day's figures cost the same however many calls an account has.
CREATE TABLE usage_hours (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    hour INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (account_id, hour)
) STRICT;
