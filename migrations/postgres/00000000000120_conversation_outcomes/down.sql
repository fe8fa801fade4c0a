ALTER TABLE usage_hours DROP COLUMN answered;
ALTER TABLE conversations DROP COLUMN carrier_status;
ALTER TABLE conversations DROP COLUMN rang_at;
ALTER TABLE conversations DROP COLUMN outcome;
