-- Who saved a version, and who published it last, as the audit log names them; NULL for versions of before.
ALTER TABLE agent_versions ADD COLUMN saved_by TEXT;
ALTER TABLE agent_versions ADD COLUMN published_by TEXT;
