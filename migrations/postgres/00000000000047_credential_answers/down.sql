ALTER TABLE provider_credentials DROP COLUMN last_error;
ALTER TABLE provider_credentials DROP COLUMN asked_at;
