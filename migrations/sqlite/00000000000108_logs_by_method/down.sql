DROP INDEX request_logs_by_method;
