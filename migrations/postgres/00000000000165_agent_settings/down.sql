ALTER TABLE agent_versions DROP COLUMN settings;
