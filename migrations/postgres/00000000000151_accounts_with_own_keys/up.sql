-- Whether the account may have its own key of a vendor: read with its row, so that accounts without any cost no statement.
ALTER TABLE accounts ADD COLUMN has_own_keys boolean NOT NULL DEFAULT false;
