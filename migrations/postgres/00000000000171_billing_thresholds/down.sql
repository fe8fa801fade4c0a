DROP TABLE billing_alarms;
ALTER TABLE account_settings DROP COLUMN alert_balance;
ALTER TABLE account_settings DROP COLUMN alert_credits_3;
ALTER TABLE account_settings DROP COLUMN alert_credits_2;
