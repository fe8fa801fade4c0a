DROP INDEX conversations_claims;
CREATE INDEX conversations_claimed ON conversations (account_id, lease_expires_at)
    WHERE state IN ('dialing', 'live', 'closing');
