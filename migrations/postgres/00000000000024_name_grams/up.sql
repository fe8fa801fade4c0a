-- Every one, two and three characters that stand together in a folded name, so that a text within names is looked up and
-- not looked for: three code points in one number, 21 bits each, from the highest. A name's rows are written with it.
CREATE TABLE agent_grams (
    account_id uuid NOT NULL,
    gram bigint NOT NULL,
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (account_id, gram, created_at, id)
);
INSERT INTO agent_grams (account_id, gram, created_at, id)
WITH RECURSIVE rests (account_id, created_at, id, rest) AS (
    SELECT account_id, created_at, id, name_folded FROM agents
    UNION ALL
    SELECT account_id, created_at, id, substr(rest, 2) FROM rests WHERE length(rest) > 1
)
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint), created_at, id
FROM rests WHERE length(rest) > 0
UNION ALL
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint) + 2097152 * CAST(ascii(substr(rest, 2)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 1
UNION ALL
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint) + 2097152 * CAST(ascii(substr(rest, 2)) AS bigint) + CAST(ascii(substr(rest, 3)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 2
ORDER BY 1, 2, 3, 4
ON CONFLICT DO NOTHING;

CREATE TABLE document_grams (
    account_id uuid NOT NULL,
    gram bigint NOT NULL,
    created_at timestamptz NOT NULL,
    id uuid NOT NULL,
    PRIMARY KEY (account_id, gram, created_at, id)
);
INSERT INTO document_grams (account_id, gram, created_at, id)
WITH RECURSIVE rests (account_id, created_at, id, rest) AS (
    SELECT account_id, created_at, id, name_folded FROM knowledge_documents
    UNION ALL
    SELECT account_id, created_at, id, substr(rest, 2) FROM rests WHERE length(rest) > 1
)
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint), created_at, id
FROM rests WHERE length(rest) > 0
UNION ALL
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint) + 2097152 * CAST(ascii(substr(rest, 2)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 1
UNION ALL
SELECT account_id, 4398046511104 * CAST(ascii(rest) AS bigint) + 2097152 * CAST(ascii(substr(rest, 2)) AS bigint) + CAST(ascii(substr(rest, 3)) AS bigint), created_at, id
FROM rests WHERE length(rest) > 2
ORDER BY 1, 2, 3, 4
ON CONFLICT DO NOTHING;
