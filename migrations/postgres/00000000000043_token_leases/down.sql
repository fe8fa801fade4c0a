DROP INDEX integration_tokens_leases;
UPDATE integration_tokens SET claim_id = NULL WHERE claim_id IS NOT NULL;
ALTER TABLE integration_tokens DROP COLUMN lease_expires_at;
