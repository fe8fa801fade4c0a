ALTER TABLE integration_tokens DROP COLUMN refused_at;
