DROP TABLE document_grams;
DROP TABLE agent_grams;
