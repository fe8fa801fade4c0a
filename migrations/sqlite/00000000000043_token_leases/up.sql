-- Until when whoever has the claim is at renewing the tokens, by the clock of leases. `refresh_at` says when they are to be
-- renewed, and nothing else any more.
ALTER TABLE integration_tokens ADD COLUMN lease_expires_at INTEGER;
CREATE INDEX integration_tokens_leases ON integration_tokens (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
-- The claims of before had their end in `refresh_at`: they are due then, and nobody's.
UPDATE integration_tokens SET claim_id = NULL WHERE claim_id IS NOT NULL;
