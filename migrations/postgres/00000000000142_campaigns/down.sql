ALTER TABLE conversations DROP COLUMN dial_window;
ALTER TABLE conversations DROP COLUMN campaign_id;
DROP TABLE campaign_recipients;
DROP TABLE campaigns;
