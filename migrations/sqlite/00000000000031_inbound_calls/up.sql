-- What ends a call whose owner died, in the network's own words; only while the call lasts.
ALTER TABLE conversations ADD COLUMN dialog TEXT;
-- Calls that customers place may come without their number.
DROP INDEX conversations_dialed;
CREATE INDEX conversations_dialed ON conversations (account_id, to_number, started_at, id)
    WHERE to_number IS NOT NULL AND (customer_phone IS NULL OR to_number <> customer_phone);
