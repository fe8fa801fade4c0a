-- Tools of an account. The values of an http tool's headers are sealed apart from its definition.
CREATE TABLE tools (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    definition json NOT NULL,
    headers bytea,
    revision integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX tools_name ON tools (account_id, name);
CREATE INDEX tools_page ON tools (account_id, created_at, id);

-- The tools of a version as they were when it was first published: a change or the deletion of a tool leaves them.
CREATE TABLE agent_version_tools (
    agent_id uuid NOT NULL,
    version integer NOT NULL,
    position integer NOT NULL,
    tool_id uuid NOT NULL,
    definition json NOT NULL,
    headers bytea,
    PRIMARY KEY (agent_id, version, position),
    FOREIGN KEY (agent_id, version) REFERENCES agent_versions (agent_id, version)
);
