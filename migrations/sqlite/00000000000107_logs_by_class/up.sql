-- Requests with a class other than 2xx. Those without are found among the newest.
CREATE INDEX request_logs_by_class ON request_logs (account_id, status_class, created_at, id) WHERE status_class <> 2;
