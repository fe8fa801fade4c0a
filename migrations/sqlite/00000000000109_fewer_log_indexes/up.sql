-- Partial ones have taken their place, and a request's id tells when it was made.
DROP INDEX request_logs_status;
DROP INDEX request_logs_class;
DROP INDEX request_logs_method;
DROP INDEX request_logs_request;
