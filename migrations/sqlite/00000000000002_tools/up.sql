-- Tools of an account. The values of an http tool's headers are sealed apart from its definition.
CREATE TABLE tools (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    headers BLOB,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tools_name ON tools (account_id, name);
CREATE INDEX tools_page ON tools (account_id, created_at, id);

-- The tools of a version as they were when it was first published: a change or the deletion of a tool leaves them.
CREATE TABLE agent_version_tools (
    agent_id BLOB NOT NULL,
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tool_id BLOB NOT NULL,
    definition TEXT NOT NULL,
    headers BLOB,
    PRIMARY KEY (agent_id, version, position),
    FOREIGN KEY (agent_id, version) REFERENCES agent_versions (agent_id, version)
) STRICT;
