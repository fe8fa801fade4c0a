-- Secrets on their way to the page that shows them once: sealed for the row that they belong to, for a minute, and for one session.
CREATE TABLE portal_shown_once (
    session_digest bytea NOT NULL REFERENCES portal_sessions (digest) ON DELETE CASCADE,
    id uuid NOT NULL,
    sealed bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (session_digest, id)
);
