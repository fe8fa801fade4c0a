-- Documents are read for one account after the other, and oldest first within each.
DROP INDEX knowledge_documents_waiting;
CREATE INDEX knowledge_documents_queue ON knowledge_documents (account_id, created_at, id) WHERE status = 'processing';

-- The number of the last turn that each account had at a kind of work ('read', 'embed').
CREATE TABLE knowledge_turns (
    work TEXT NOT NULL,
    account_id uuid NOT NULL,
    turn bigint NOT NULL,
    PRIMARY KEY (work, account_id)
);
CREATE INDEX knowledge_turns_last ON knowledge_turns (work, turn);

-- Documents whose passages are still to be embedded by a model. No reference: an order may outlive its document.
CREATE TABLE knowledge_embedding_jobs (
    document_id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL,
    model TEXT NOT NULL,
    tries integer NOT NULL,
    error TEXT,
    claim_id uuid,
    lease_expires_at timestamptz
);
CREATE INDEX knowledge_embedding_jobs_queue ON knowledge_embedding_jobs (model, account_id, document_id) WHERE tries < 3;

-- Vectors of the passages from ordinal on: per passage `dimension` signed bytes, parallel to the vector.
CREATE TABLE knowledge_embeddings (
    document_id uuid NOT NULL,
    model TEXT NOT NULL,
    ordinal integer NOT NULL,
    dimension integer NOT NULL,
    vectors bytea NOT NULL,
    PRIMARY KEY (document_id, model, ordinal)
);

-- Documents all of whose passages have vectors of this model.
CREATE TABLE knowledge_embedded (
    document_id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL,
    model TEXT NOT NULL,
    passages integer NOT NULL
);
CREATE INDEX knowledge_embedded_newest ON knowledge_embedded (account_id, model, document_id);
