-- Which Redis a process counts requests in, by the name that it found there: those of one database must agree.
ALTER TABLE nodes ADD COLUMN redis_id TEXT;
