-- Whether a call is one of the simulated phone network or of the simulated provider of legacy agents: nobody was called.
ALTER TABLE conversations ADD COLUMN simulated INTEGER NOT NULL DEFAULT 0;
