-- Addresses are compared in lower case.
UPDATE members SET email = lower(email);

-- How many members an account has: kept with each change, so that the seats are read in the same time whether there is
-- one member or a million, and held by whoever takes a seat.
CREATE TABLE account_seats (
    account_id uuid NOT NULL PRIMARY KEY REFERENCES accounts (id),
    members bigint NOT NULL
);
INSERT INTO account_seats (account_id, members)
    SELECT id, (SELECT count(*) FROM members WHERE members.account_id = accounts.id) FROM accounts;

-- One-time links to a team; one that is accepted or run out is deleted (decision 6.9).
CREATE TABLE invitations (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    digest bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX invitations_digest ON invitations (digest);
CREATE UNIQUE INDEX invitations_email ON invitations (account_id, email);
CREATE INDEX invitations_pending ON invitations (account_id, expires_at);

-- What accounts have connected of the catalog; what has no row was never connected.
CREATE TABLE integration_connections (
    account_id uuid NOT NULL REFERENCES accounts (id),
    toolkit TEXT NOT NULL,
    status TEXT NOT NULL,
    connected_at timestamptz,
    last_error TEXT,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, toolkit)
);
