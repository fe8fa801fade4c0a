-- When the provider was last asked with this credential for what the account has there (agents, voices), and why it did not say;
-- without an error it did.
ALTER TABLE provider_credentials ADD COLUMN asked_at timestamptz;
ALTER TABLE provider_credentials ADD COLUMN last_error TEXT;
