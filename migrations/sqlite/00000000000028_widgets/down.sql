DROP TABLE chat_messages;
DROP TABLE chat_sessions;
DROP TABLE widget_origins;
DROP TABLE widgets;
