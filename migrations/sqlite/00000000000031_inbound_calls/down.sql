DROP INDEX conversations_dialed;
CREATE INDEX conversations_dialed ON conversations (account_id, to_number, started_at, id)
    WHERE to_number <> customer_phone;
ALTER TABLE conversations DROP COLUMN dialog;
