-- Whether agents that remember callers leave the conversation out.
ALTER TABLE conversations ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
