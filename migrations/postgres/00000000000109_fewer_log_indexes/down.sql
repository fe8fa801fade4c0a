CREATE INDEX request_logs_status ON request_logs (account_id, status, created_at, id);
CREATE INDEX request_logs_class ON request_logs (account_id, status_class, created_at, id);
CREATE INDEX request_logs_method ON request_logs (account_id, method, created_at, id);
CREATE INDEX request_logs_request ON request_logs (account_id, request_id, created_at, id);
