DROP INDEX CONCURRENTLY conversations_outcome;
