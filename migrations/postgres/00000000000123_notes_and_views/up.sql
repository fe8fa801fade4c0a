-- What members write about a conversation. The author's name is kept with it, so that it stays when they leave.
CREATE TABLE conversation_notes (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    conversation_id uuid NOT NULL REFERENCES conversations (id),
    member_id uuid NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX conversation_notes_conversation ON conversation_notes (conversation_id, id);

-- A member's named filters of the list of conversations.
CREATE TABLE saved_views (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    member_id uuid NOT NULL REFERENCES members (id) ON DELETE CASCADE,
    name TEXT NOT NULL COLLATE "C",
    query TEXT NOT NULL
);
CREATE UNIQUE INDEX saved_views_name ON saved_views (member_id, name);
