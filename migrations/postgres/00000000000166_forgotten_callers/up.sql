-- Whether agents that remember callers leave the conversation out.
ALTER TABLE conversations ADD COLUMN forgotten boolean NOT NULL DEFAULT false;
