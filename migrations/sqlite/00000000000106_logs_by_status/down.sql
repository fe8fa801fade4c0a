DROP INDEX request_logs_by_status;
