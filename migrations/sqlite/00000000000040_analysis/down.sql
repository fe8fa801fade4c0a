DROP TABLE conversation_analyses;
DROP TABLE analysis_schemas;
