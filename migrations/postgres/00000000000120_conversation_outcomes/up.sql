-- What came of a conversation: written when its media ends. The rest is what the phone network signaled until then.
ALTER TABLE conversations ADD COLUMN outcome TEXT;
ALTER TABLE conversations ADD COLUMN rang_at timestamptz;
ALTER TABLE conversations ADD COLUMN carrier_status integer;
ALTER TABLE usage_hours ADD COLUMN answered bigint NOT NULL DEFAULT 0;
