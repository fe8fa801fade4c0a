-- What ended calls add up to, by the UTC hour that they began, counted from 1970-01-01; written in the transaction that ends
-- one, so that a day's figures cost the same however many calls an account has.
CREATE TABLE usage_hours (
    account_id uuid NOT NULL REFERENCES accounts (id),
    hour integer NOT NULL,
    calls bigint NOT NULL,
    failed bigint NOT NULL,
    PRIMARY KEY (account_id, hour)
);
