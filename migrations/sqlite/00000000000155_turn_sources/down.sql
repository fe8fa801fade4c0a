ALTER TABLE conversation_moments DROP COLUMN source;
