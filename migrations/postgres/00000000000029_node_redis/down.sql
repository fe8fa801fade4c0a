ALTER TABLE nodes DROP COLUMN redis_id;
