-- NULL until a conversation has ended, so that placing one costs nothing more.
CREATE INDEX conversations_outcome ON conversations (account_id, outcome, started_at, id) WHERE outcome IS NOT NULL;
