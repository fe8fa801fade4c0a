DROP INDEX knowledge_documents_ready;

-- What a document's words are found by. A document keeps its words as rows of its own, which are cheap to write; the words
-- of some documents of an account are then put together ("folded"), so that those rows are few as well.

-- The words of a document in their order, some to a row: `word ordinal:impact …`, separated by `|`. `last` is the last word.
CREATE TABLE knowledge_words (
    document_id BLOB NOT NULL,
    last TEXT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (document_id, last)
) STRICT;

-- Documents that have been read. One without a fold, or whose fold is not complete, is found by words of its own.
CREATE TABLE knowledge_indexed (
    document_id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL,
    passages INTEGER NOT NULL,
    fold INTEGER,
    is_folded INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_indexed_loose ON knowledge_indexed (account_id, document_id) WHERE NOT is_folded;

-- The last fold of an account. `upto`: how far in the words it has come, in all its documents; NULL once it is complete.
CREATE TABLE knowledge_folds (
    account_id BLOB NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    upto TEXT,
    opened_at INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_folds_open ON knowledge_folds (opened_at, account_id) WHERE upto IS NOT NULL;

-- Where a word is in those documents of a fold in which it counts about as much.
CREATE TABLE knowledge_folded (
    account_id BLOB NOT NULL,
    term TEXT NOT NULL,
    tier INTEGER NOT NULL,
    fold INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY (account_id, term, tier, fold)
) STRICT, WITHOUT ROWID;

-- What has been read is converted; its words are folded by the worker, a lock for each account's fold.
INSERT INTO knowledge_words (document_id, last, words)
SELECT p.document_id, MAX(p.term), string_agg(p.term || ' ' || p.places, '|' ORDER BY p.term)
FROM (
    SELECT w.document_id, w.term, w.places,
        (row_number() OVER (PARTITION BY w.document_id ORDER BY w.term) - 1) / 64 AS part
    FROM knowledge_postings AS w JOIN knowledge_documents AS d ON d.id = w.document_id
    WHERE d.status = 'ready'
) AS p
GROUP BY p.document_id, p.part;
INSERT INTO knowledge_indexed (document_id, account_id, passages, fold, is_folded)
SELECT id, account_id, chunks_count, NULL, false FROM knowledge_documents WHERE status = 'ready';
INSERT INTO knowledge_folds (account_id, number, upto, opened_at)
SELECT account_id, 1, '', MAX(updated_at) FROM knowledge_documents WHERE status = 'ready'
GROUP BY account_id HAVING COUNT(*) >= 32;

-- Counted by folds from now on; with room in the pages, as most of them are counted up again and again.
CREATE TABLE knowledge_terms (
    account_id BLOB NOT NULL,
    term TEXT NOT NULL,
    passages INTEGER NOT NULL,
    PRIMARY KEY (account_id, term)
) STRICT, WITHOUT ROWID;

-- The words of what is deleted are not converted.
DELETE FROM knowledge_gone;
DROP TABLE knowledge_postings;

-- Every one, two and three characters that stand together in a folded name, so that a text within names is looked up and
-- not looked for: three code points in one number, 21 bits each, from the highest. A name's rows are written with it.
CREATE TABLE agent_grams (
    account_id BLOB NOT NULL,
    gram INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (account_id, gram, created_at, id)
) STRICT, WITHOUT ROWID;
INSERT INTO agent_grams (account_id, gram, created_at, id)
WITH RECURSIVE rests (account_id, created_at, id, rest) AS (
    SELECT account_id, created_at, id, name_folded FROM agents
    UNION ALL
    SELECT account_id, created_at, id, substr(rest, 2) FROM rests WHERE length(rest) > 1
)
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint), created_at, id
FROM rests WHERE length(rest) > 0
UNION ALL
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint) + 2097152 * CAST(unicode(substr(rest, 2)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 1
UNION ALL
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint) + 2097152 * CAST(unicode(substr(rest, 2)) AS bigint) + CAST(unicode(substr(rest, 3)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 2
ORDER BY 1, 2, 3, 4
ON CONFLICT DO NOTHING;

CREATE TABLE document_grams (
    account_id BLOB NOT NULL,
    gram INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (account_id, gram, created_at, id)
) STRICT, WITHOUT ROWID;
INSERT INTO document_grams (account_id, gram, created_at, id)
WITH RECURSIVE rests (account_id, created_at, id, rest) AS (
    SELECT account_id, created_at, id, name_folded FROM knowledge_documents
    UNION ALL
    SELECT account_id, created_at, id, substr(rest, 2) FROM rests WHERE length(rest) > 1
)
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint), created_at, id
FROM rests WHERE length(rest) > 0
UNION ALL
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint) + 2097152 * CAST(unicode(substr(rest, 2)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 1
UNION ALL
SELECT account_id, 4398046511104 * CAST(unicode(rest) AS bigint) + 2097152 * CAST(unicode(substr(rest, 2)) AS bigint) + CAST(unicode(substr(rest, 3)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 2
ORDER BY 1, 2, 3, 4
ON CONFLICT DO NOTHING;
