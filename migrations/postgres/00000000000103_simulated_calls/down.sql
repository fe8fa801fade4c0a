ALTER TABLE conversations DROP COLUMN simulated;
