DROP INDEX conversations_claimed;
CREATE INDEX conversations_claimed ON conversations (account_id, lease_expires_at)
    WHERE state IN ('dialing', 'live', 'closing');
