-- Secrets on their way to the page that shows them once: sealed for the row that they belong to, for a minute, and for one session.
CREATE TABLE portal_shown_once (
    session_digest BLOB NOT NULL REFERENCES portal_sessions (digest) ON DELETE CASCADE,
    id BLOB NOT NULL,
    sealed BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (session_digest, id)
) STRICT;
