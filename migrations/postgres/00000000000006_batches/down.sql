DROP TABLE batch_tries;
DROP TABLE batch_recipients;
DROP TABLE batch_calls;
