ALTER TABLE conversations DROP COLUMN forgotten;
