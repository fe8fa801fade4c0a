-- Whether the account has shown that a number is its own: by its credential at a carrier, or by the operator.
ALTER TABLE phone_numbers ADD COLUMN is_proven INTEGER NOT NULL DEFAULT 1;

-- Whether the provider of the account's legacy agents lists it. That alone shows nothing: whoever lists a number there has typed it.
ALTER TABLE phone_numbers ADD COLUMN at_legacy INTEGER NOT NULL DEFAULT 0;

UPDATE phone_numbers SET is_proven = 0, at_legacy = 1
    WHERE agent_id IN (SELECT agent_id FROM legacy_agents);
