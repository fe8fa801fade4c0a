DROP INDEX request_logs_resource;
ALTER TABLE request_logs DROP COLUMN resource_id;
ALTER TABLE request_logs DROP COLUMN resource;
