-- When the application last refused these tokens though they were new: an error of the connection that no renewal ends, and that
-- the first call which gets in does.
ALTER TABLE integration_tokens ADD COLUMN refused_at timestamptz;
