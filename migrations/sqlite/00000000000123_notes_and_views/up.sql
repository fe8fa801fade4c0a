-- What members write about a conversation. The author's name is kept with it, so that it stays when they leave.
CREATE TABLE conversation_notes (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    conversation_id BLOB NOT NULL REFERENCES conversations (id),
    member_id BLOB NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_notes_conversation ON conversation_notes (conversation_id, id);

-- A member's named filters of the list of conversations.
CREATE TABLE saved_views (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    member_id BLOB NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    query TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_views_name ON saved_views (member_id, name);
