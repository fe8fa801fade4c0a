-- Requests with a status other than 200. Those without are found among the newest.
CREATE INDEX request_logs_by_status ON request_logs (account_id, status, created_at, id) WHERE status <> 200;
