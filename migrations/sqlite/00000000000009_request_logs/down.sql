DROP TABLE jobs;
DROP TABLE request_logs;
