-- How long the customer waited for a spoken reply, step by step: a JSON object. NULL where nothing was measured.
ALTER TABLE conversation_moments ADD COLUMN latency TEXT;
