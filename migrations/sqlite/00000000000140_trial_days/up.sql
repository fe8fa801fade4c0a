-- What an account's members used today to try drafts of agents: written replies, and seconds of talk.
CREATE TABLE trial_days (
    account_id BLOB PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    replies INTEGER NOT NULL,
    seconds INTEGER NOT NULL
) STRICT;
