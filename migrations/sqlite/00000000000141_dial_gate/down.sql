ALTER TABLE conversations DROP COLUMN opted_out;
ALTER TABLE conversations DROP COLUMN blocked_by;
ALTER TABLE conversations DROP COLUMN consent;
DROP TABLE suppressions;
ALTER TABLE accounts DROP COLUMN has_suppressions;
ALTER TABLE accounts DROP COLUMN dialing_rules;
