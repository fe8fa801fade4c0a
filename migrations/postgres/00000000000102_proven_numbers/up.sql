-- Whether the account has shown that a number is its own: by its credential at a carrier, or by the operator.
ALTER TABLE phone_numbers ADD COLUMN is_proven boolean NOT NULL DEFAULT true;

-- Whether the provider of the account's legacy agents lists it. That alone shows nothing: whoever lists a number there has typed it.
ALTER TABLE phone_numbers ADD COLUMN at_legacy boolean NOT NULL DEFAULT false;

UPDATE phone_numbers SET is_proven = false, at_legacy = true
    WHERE agent_id IN (SELECT agent_id FROM legacy_agents);
