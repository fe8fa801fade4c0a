ALTER TABLE agent_versions DROP COLUMN published_by;
ALTER TABLE agent_versions DROP COLUMN saved_by;
