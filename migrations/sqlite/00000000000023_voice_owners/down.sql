ALTER TABLE voices DROP COLUMN owner_id;
