DROP INDEX CONCURRENTLY request_logs_by_class;
