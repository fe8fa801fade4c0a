-- What accounts have asked of the API in the last 30 days. Rows refer to nothing: they come in batches, and what they
-- name may be gone before them. status_class is status / 100.
CREATE TABLE request_logs (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    request_id uuid NOT NULL,
    key_id uuid NOT NULL,
    key_prefix TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    status integer NOT NULL,
    status_class integer NOT NULL,
    error TEXT,
    ip TEXT NOT NULL,
    duration_ms integer NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, created_at, id)
);
CREATE INDEX request_logs_status ON request_logs (account_id, status, created_at, id);
CREATE INDEX request_logs_class ON request_logs (account_id, status_class, created_at, id);
CREATE INDEX request_logs_method ON request_logs (account_id, method, created_at, id);
CREATE INDEX request_logs_path ON request_logs (account_id, path, created_at, id);
CREATE INDEX request_logs_key ON request_logs (account_id, key_id, created_at, id);
CREATE INDEX request_logs_request ON request_logs (account_id, request_id, created_at, id);

-- Work that one process at a time does now and then: who is at it, and when it is due again.
CREATE TABLE jobs (
    name TEXT NOT NULL PRIMARY KEY,
    holder uuid,
    lease_expires_at timestamptz,
    due_at timestamptz NOT NULL
);
