-- What the transcript will say of tools that are at work in a text conversation, should nobody hear what they answered: a
-- JSON array of texts. Nothing while none is at work.
ALTER TABLE chat_sessions ADD COLUMN tools_at_work TEXT;
