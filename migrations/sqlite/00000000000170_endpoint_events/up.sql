-- The event types that an endpoint receives, separated by commas; NULL: the default ones.
ALTER TABLE webhook_endpoints ADD COLUMN events TEXT;
