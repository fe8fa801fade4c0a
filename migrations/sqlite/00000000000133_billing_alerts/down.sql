ALTER TABLE account_settings DROP COLUMN alert_credits;
