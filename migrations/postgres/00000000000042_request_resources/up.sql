-- What a request made or was about: nothing for lists and the like, and for all that came before this was kept. The index
-- holds what was asked to be made or done, and is read for the request that placed a call.
ALTER TABLE request_logs ADD COLUMN resource TEXT;
ALTER TABLE request_logs ADD COLUMN resource_id uuid;
CREATE INDEX request_logs_resource ON request_logs (account_id, resource_id, created_at, id)
    WHERE method = 'POST' AND resource_id IS NOT NULL;
