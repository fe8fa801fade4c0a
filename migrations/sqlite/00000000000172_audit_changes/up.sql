-- Which members a change has changed, from what to what; never a secret.
ALTER TABLE audit_log ADD COLUMN changes TEXT;
