ALTER TABLE chat_sessions DROP COLUMN tools_at_work;
