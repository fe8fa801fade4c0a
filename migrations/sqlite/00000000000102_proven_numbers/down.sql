ALTER TABLE phone_numbers DROP COLUMN at_legacy;
ALTER TABLE phone_numbers DROP COLUMN is_proven;
