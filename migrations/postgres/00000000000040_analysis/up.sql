-- What is to be extracted from an agent's conversations once they have ended. A change is a new revision, and the last one is
-- in force; without a definition nothing is extracted. Earlier ones stay while conversations wait that ended under them.
CREATE TABLE analysis_schemas (
    agent_id uuid NOT NULL REFERENCES agents (id),
    revision integer NOT NULL,
    definition json,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, revision)
);

-- What was extracted, or why nothing was; until then whose work it is. Ordered with the end of the conversation. Without a
-- claim, `lease_expires_at` is until when it is left alone after a failed try.
CREATE TABLE conversation_analyses (
    conversation_id uuid NOT NULL PRIMARY KEY REFERENCES conversations (id),
    account_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    revision integer NOT NULL,
    status TEXT NOT NULL,
    data json,
    error TEXT,
    completed_at timestamptz,
    tries integer NOT NULL,
    claim_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX conversation_analyses_waiting ON conversation_analyses (conversation_id) WHERE status = 'pending';
CREATE INDEX conversation_analyses_ordered ON conversation_analyses (agent_id, revision) WHERE status = 'pending';
