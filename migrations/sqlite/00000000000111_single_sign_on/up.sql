-- An account's identity provider (OpenID Connect), with its sealed client secret. `email_domain` finds the account by what a
-- person types; it is no permission.
CREATE TABLE single_sign_on (
    account_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id),
    id BLOB NOT NULL,
    issuer TEXT NOT NULL,
    client_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    email_domain TEXT,
    is_required INTEGER NOT NULL,
    creates_viewers INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX single_sign_on_id ON single_sign_on (id);
CREATE UNIQUE INDEX single_sign_on_domain ON single_sign_on (email_domain);

-- Whether the account's identity provider began a session. It opens that account alone.
ALTER TABLE portal_sessions ADD COLUMN by_single_sign_on INTEGER NOT NULL DEFAULT 0;
