DROP INDEX chat_sessions_whatsapp_due;
DROP INDEX chat_sessions_due;
CREATE INDEX chat_sessions_due ON chat_sessions (active_at, conversation_id) WHERE NOT is_settled;
DROP TABLE whatsapp_sent;
DROP TABLE whatsapp_received;
DROP TABLE whatsapp_threads;
