-- What an account sets of an agent beside its configuration, version by version; NULL: nothing is set.
ALTER TABLE agent_versions ADD COLUMN settings TEXT;
