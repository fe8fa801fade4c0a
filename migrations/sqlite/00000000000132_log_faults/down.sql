DROP TABLE request_log_bodies;
DROP TABLE request_log_faults;
ALTER TABLE account_settings DROP COLUMN keeps_error_bodies;
