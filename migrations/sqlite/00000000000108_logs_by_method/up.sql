-- Requests with a method other than GET. Those without are found among the newest.
CREATE INDEX request_logs_by_method ON request_logs (account_id, method, created_at, id) WHERE method <> 'GET';
