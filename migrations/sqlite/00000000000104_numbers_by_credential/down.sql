ALTER TABLE phone_numbers DROP COLUMN by_credential;
