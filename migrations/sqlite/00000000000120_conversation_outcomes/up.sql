-- What came of a conversation: written when its media ends. The rest is what the phone network signaled until then.
ALTER TABLE conversations ADD COLUMN outcome TEXT;
ALTER TABLE conversations ADD COLUMN rang_at INTEGER;
ALTER TABLE conversations ADD COLUMN carrier_status INTEGER;
ALTER TABLE usage_hours ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
