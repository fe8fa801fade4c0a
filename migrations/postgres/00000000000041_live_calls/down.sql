DROP INDEX conversations_claims;
CREATE INDEX conversations_claims ON conversations (account_id)
    WHERE state IN ('dialing', 'live', 'closing');
