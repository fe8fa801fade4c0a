DROP INDEX CONCURRENTLY request_logs_by_status;
