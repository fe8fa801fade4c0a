DROP TABLE conversation_tags;
