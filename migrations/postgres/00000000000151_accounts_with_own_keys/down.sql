ALTER TABLE accounts DROP COLUMN has_own_keys;
