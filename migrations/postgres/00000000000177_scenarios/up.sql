-- Conversations that an agent is tested with.
CREATE TABLE scenarios (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    agent_id uuid NOT NULL REFERENCES agents (id),
    name TEXT NOT NULL COLLATE "C",
    suite TEXT COLLATE "C",
    definition TEXT NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX scenarios_name ON scenarios (agent_id, name);
CREATE INDEX scenarios_page ON scenarios (account_id, created_at, id);

-- Runs of scenarios, the latest of each agent.
CREATE TABLE test_runs (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    agent_id uuid NOT NULL REFERENCES agents (id),
    version integer NOT NULL,
    status TEXT NOT NULL,
    total integer NOT NULL,
    passed integer NOT NULL,
    failed integer NOT NULL,
    created_at timestamptz NOT NULL,
    -- A run that is still under way then was interrupted.
    deadline_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX test_runs_page ON test_runs (agent_id, created_at, id);
CREATE INDEX test_runs_old ON test_runs (created_at);

-- What came of each scenario of a run.
CREATE TABLE test_results (
    run_id uuid NOT NULL REFERENCES test_runs (id) ON DELETE CASCADE,
    place integer NOT NULL,
    agent_id uuid NOT NULL,
    name TEXT NOT NULL,
    -- The fingerprints of the scenario, and of what was tested: a version, its settings and its tools.
    scenario TEXT NOT NULL COLLATE "C",
    content TEXT NOT NULL COLLATE "C",
    status TEXT NOT NULL,
    detail TEXT NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, place)
);
CREATE INDEX test_results_content ON test_results (agent_id, content, scenario);

-- Test conversations of an account's day.
ALTER TABLE trial_days ADD COLUMN tests INTEGER NOT NULL DEFAULT 0;
