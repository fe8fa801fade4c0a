-- One level of folders. Whoever moves a document in or out changes documents_count, and so waits for a deletion.
CREATE TABLE knowledge_folders (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    documents_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX knowledge_folders_name ON knowledge_folders (account_id, name_folded);
CREATE INDEX knowledge_folders_page ON knowledge_folders (account_id, created_at, id);

-- A folder goes without its documents being looked for twice, so folder_id refers to it by word alone.
CREATE TABLE knowledge_documents (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    folder_id BLOB,
    name TEXT NOT NULL,
    name_folded TEXT NOT NULL,
    source TEXT NOT NULL,
    mime_type TEXT,
    url TEXT,
    size_bytes INTEGER,
    content_hash BLOB,
    chunks_count INTEGER NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    tries INTEGER NOT NULL,
    claim_id BLOB,
    lease_expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_documents_page ON knowledge_documents (account_id, created_at, id);
CREATE INDEX knowledge_documents_status ON knowledge_documents (account_id, status, created_at, id);
CREATE INDEX knowledge_documents_folder ON knowledge_documents (account_id, folder_id, created_at, id);
CREATE INDEX knowledge_documents_folder_status ON knowledge_documents (account_id, folder_id, status, created_at, id);
CREATE INDEX knowledge_documents_root ON knowledge_documents (account_id, created_at, id) WHERE folder_id IS NULL;
CREATE INDEX knowledge_documents_root_status ON knowledge_documents (account_id, status, created_at, id)
    WHERE folder_id IS NULL;
CREATE INDEX knowledge_documents_waiting ON knowledge_documents (created_at, id) WHERE status = 'processing';

-- What was sent, until its text is read.
CREATE TABLE knowledge_uploads (
    document_id BLOB NOT NULL PRIMARY KEY REFERENCES knowledge_documents (id),
    content BLOB NOT NULL
) STRICT;

-- A text in passages; without the first `repeats` bytes of each they are the text.
CREATE TABLE knowledge_passages (
    document_id BLOB NOT NULL REFERENCES knowledge_documents (id),
    ordinal INTEGER NOT NULL,
    repeats INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (document_id, ordinal)
) STRICT;

-- The words of a document: in which passages (places: ordinal:impact …), and the highest impact among them.
CREATE TABLE knowledge_postings (
    document_id BLOB NOT NULL,
    term TEXT NOT NULL,
    account_id BLOB NOT NULL,
    impact INTEGER NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (document_id, term)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_postings_term ON knowledge_postings (account_id, term, impact, document_id);

-- In how many of an account's passages a word is; the empty word counts the passages.
CREATE TABLE knowledge_terms (
    account_id BLOB NOT NULL,
    term TEXT NOT NULL,
    passages INTEGER NOT NULL,
    PRIMARY KEY (account_id, term)
) STRICT, WITHOUT ROWID;

-- What a version answers from, by its first publication.
CREATE TABLE knowledge_pins (
    agent_id BLOB NOT NULL REFERENCES agents (id),
    version INTEGER NOT NULL,
    document_id BLOB NOT NULL REFERENCES knowledge_documents (id),
    content_hash BLOB,
    PRIMARY KEY (agent_id, version, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_pins_document ON knowledge_pins (document_id);

-- Deleted documents whose postings are still to go.
CREATE TABLE knowledge_gone (
    document_id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;
