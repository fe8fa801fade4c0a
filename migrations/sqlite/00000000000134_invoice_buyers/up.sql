-- To whom invoices are made out; without a name, to the account by its own.
ALTER TABLE account_settings ADD COLUMN invoice_name TEXT NOT NULL DEFAULT '';
ALTER TABLE account_settings ADD COLUMN invoice_address TEXT NOT NULL DEFAULT '';
ALTER TABLE account_settings ADD COLUMN invoice_tax_id TEXT NOT NULL DEFAULT '';
