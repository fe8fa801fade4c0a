DROP TABLE knowledge_gone;
DROP TABLE knowledge_pins;
DROP TABLE knowledge_terms;
DROP TABLE knowledge_postings;
DROP TABLE knowledge_passages;
DROP TABLE knowledge_uploads;
DROP TABLE knowledge_documents;
DROP TABLE knowledge_folders;
