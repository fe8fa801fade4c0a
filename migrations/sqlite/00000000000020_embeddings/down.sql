DROP TABLE knowledge_embedded;
DROP TABLE knowledge_embeddings;
DROP TABLE knowledge_embedding_jobs;
DROP TABLE knowledge_turns;
DROP INDEX knowledge_documents_queue;
CREATE INDEX knowledge_documents_waiting ON knowledge_documents (created_at, id) WHERE status = 'processing';
