DROP TABLE saved_views;
DROP TABLE conversation_notes;
