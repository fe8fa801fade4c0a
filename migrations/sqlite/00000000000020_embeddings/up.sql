-- Documents are read for one account after the other, and oldest first within each.
DROP INDEX knowledge_documents_waiting;
CREATE INDEX knowledge_documents_queue ON knowledge_documents (account_id, created_at, id) WHERE status = 'processing';

-- The number of the last turn that each account had at a kind of work ('read', 'embed').
CREATE TABLE knowledge_turns (
    work TEXT NOT NULL,
    account_id BLOB NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (work, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_turns_last ON knowledge_turns (work, turn);

-- Documents whose passages are still to be embedded by a model. No reference: an order may outlive its document.
CREATE TABLE knowledge_embedding_jobs (
    document_id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL,
    model TEXT NOT NULL,
    tries INTEGER NOT NULL,
    error TEXT,
    claim_id BLOB,
    lease_expires_at INTEGER
) STRICT;
CREATE INDEX knowledge_embedding_jobs_queue ON knowledge_embedding_jobs (model, account_id, document_id) WHERE tries < 3;

-- Vectors of the passages from ordinal on: per passage `dimension` signed bytes, parallel to the vector.
CREATE TABLE knowledge_embeddings (
    document_id BLOB NOT NULL,
    model TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    vectors BLOB NOT NULL,
    PRIMARY KEY (document_id, model, ordinal)
) STRICT;

-- Documents all of whose passages have vectors of this model.
CREATE TABLE knowledge_embedded (
    document_id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL,
    model TEXT NOT NULL,
    passages INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_embedded_newest ON knowledge_embedded (account_id, model, document_id);
