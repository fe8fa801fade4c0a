-- People sign in with an e-mail address, in lower case, whatever accounts they are members of. The password is an argon2id hash;
-- one that was set with an invitation vouches for the accounts that invited, and for no other.
CREATE TABLE people (
    email TEXT NOT NULL PRIMARY KEY,
    password TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    by_invitation INTEGER NOT NULL
) STRICT;
CREATE INDEX members_person ON members (email);

-- Who is signed in, by the digest of the cookie's token: as this member, in this account.
CREATE TABLE portal_sessions (
    digest BLOB NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    member_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;
CREATE INDEX portal_sessions_seen ON portal_sessions (seen_at);
CREATE INDEX portal_sessions_member ON portal_sessions (member_id);
CREATE INDEX portal_sessions_person ON portal_sessions (email);

-- One-time links with which a person sets a password.
CREATE TABLE sign_in_links (
    digest BLOB NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_links_expiry ON sign_in_links (expires_at);
CREATE INDEX sign_in_links_person ON sign_in_links (email);

-- Attempts to sign in that have not succeeded, by the digest of an e-mail address or of a network address. A row is forgotten
-- when its window has ended.
CREATE TABLE sign_in_failures (
    digest BLOB NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    blocked_until INTEGER,
    ends_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sign_in_failures_end ON sign_in_failures (ends_at);

-- A batch that a member makes in the portal has no key.
ALTER TABLE batch_calls ADD COLUMN made_by BLOB REFERENCES api_keys (id);
UPDATE batch_calls SET made_by = key_id;
ALTER TABLE batch_calls DROP COLUMN key_id;
ALTER TABLE batch_calls RENAME COLUMN made_by TO key_id;
