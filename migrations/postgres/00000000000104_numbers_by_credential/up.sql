-- Whether a number's calls go out and come in by the account's own credential at the carrier, and not by the deployment's.
ALTER TABLE phone_numbers ADD COLUMN by_credential boolean NOT NULL DEFAULT false;
