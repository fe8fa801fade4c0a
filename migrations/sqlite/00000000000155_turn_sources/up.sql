-- Which model wrote a turn, with how many tokens and which passages before it: a JSON object of bounded size.
ALTER TABLE conversation_moments ADD COLUMN source TEXT;
