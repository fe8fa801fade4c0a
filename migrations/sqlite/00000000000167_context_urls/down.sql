DROP TABLE conversation_contexts;
DROP TABLE agent_secrets;
