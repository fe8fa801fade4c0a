-- From how many credits in a month on the account's members are warned.
ALTER TABLE account_settings ADD COLUMN alert_credits INTEGER;
