ALTER TABLE account_settings DROP COLUMN invoice_name;
ALTER TABLE account_settings DROP COLUMN invoice_address;
ALTER TABLE account_settings DROP COLUMN invoice_tax_id;
