-- The calls of an account that are under way are found by entries of their own: text conversations, which may stay open for a
-- day, have none here.
DROP INDEX conversations_claims;
CREATE INDEX conversations_claims ON conversations (account_id)
    WHERE state IN ('dialing', 'live', 'closing') AND voice;
