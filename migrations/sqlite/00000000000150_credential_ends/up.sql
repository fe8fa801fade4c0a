-- The end of a credential's key, by which its account recognizes it; NULL where the key is short or has several parts.
ALTER TABLE provider_credentials ADD COLUMN last_characters TEXT;
