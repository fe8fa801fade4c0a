-- A text within names is looked for along the list (docs/adr/0016-search-by-plain-rows.md).
DROP TABLE document_grams;
DROP TABLE agent_grams;

-- The words of documents: in which passages each is (places: ordinal:impact …).
CREATE TABLE knowledge_postings (
    account_id uuid NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    document_id uuid NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (account_id, term, document_id)
);
INSERT INTO knowledge_postings (account_id, term, document_id, places)
WITH RECURSIVE rests (account_id, document_id, rest) AS (
    SELECT d.account_id, d.id, w.words || '|'
    FROM knowledge_words AS w JOIN knowledge_documents AS d ON d.id = w.document_id
    WHERE d.status = 'ready'
    UNION ALL
    SELECT account_id, document_id, substr(rest, strpos(rest, '|') + 1) FROM rests WHERE strpos(rest, '|') < length(rest)
), entries (account_id, document_id, entry) AS (
    SELECT account_id, document_id, substr(rest, 1, strpos(rest, '|') - 1) FROM rests
)
SELECT account_id, substr(entry, 1, strpos(entry, ' ') - 1), document_id, substr(entry, strpos(entry, ' ') + 1) FROM entries
ORDER BY 1, 2, 3;
-- By which a deleted document's words are found.
CREATE INDEX knowledge_postings_document ON knowledge_postings (document_id);

DROP TABLE knowledge_folded;
DROP TABLE knowledge_folds;
DROP TABLE knowledge_indexed;
DROP TABLE knowledge_words;
DROP TABLE knowledge_terms;

-- All passages of an account are counted by each search.
CREATE INDEX knowledge_documents_ready ON knowledge_documents (account_id, chunks_count) WHERE status = 'ready';
