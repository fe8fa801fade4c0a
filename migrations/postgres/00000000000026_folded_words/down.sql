-- Documents are found by their words again when they are sent again: the rows of single words are not made anew.
CREATE TABLE knowledge_postings (
    document_id uuid NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    account_id uuid NOT NULL,
    impact integer NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (document_id, term)
);
CREATE INDEX knowledge_postings_term ON knowledge_postings (account_id, term, impact, document_id);
DELETE FROM knowledge_terms;
DELETE FROM knowledge_gone;
DROP TABLE knowledge_folded;
DROP TABLE knowledge_folds;
DROP TABLE knowledge_indexed;
DROP TABLE knowledge_words;
