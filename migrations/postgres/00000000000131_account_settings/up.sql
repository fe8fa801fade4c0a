-- What an account has set for itself; an account without a row has the defaults.
CREATE TABLE account_settings (
    account_id uuid NOT NULL PRIMARY KEY REFERENCES accounts (id),
    time_zone TEXT NOT NULL DEFAULT 'UTC'
);
