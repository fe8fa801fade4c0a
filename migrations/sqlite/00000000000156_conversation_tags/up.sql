-- Words by which members find conversations again, in lower case.
CREATE TABLE conversation_tags (
    conversation_id BLOB NOT NULL REFERENCES conversations (id),
    tag TEXT NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    PRIMARY KEY (conversation_id, tag)
) STRICT;
CREATE INDEX conversation_tags_tag ON conversation_tags (account_id, tag, conversation_id);
