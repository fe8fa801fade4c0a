ALTER TABLE provider_credentials DROP COLUMN last_characters;
