DROP TABLE retention_windows;
DROP INDEX events_conversation;
CREATE UNIQUE INDEX events_initiated ON events (conversation_id) WHERE type = 'call.initiated';
