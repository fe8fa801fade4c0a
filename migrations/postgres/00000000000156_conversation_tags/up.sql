-- Words by which members find conversations again, in lower case.
CREATE TABLE conversation_tags (
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    tag TEXT NOT NULL COLLATE "C",
    account_id uuid NOT NULL REFERENCES accounts (id),
    PRIMARY KEY (conversation_id, tag)
);
CREATE INDEX conversation_tags_tag ON conversation_tags (account_id, tag, conversation_id);
