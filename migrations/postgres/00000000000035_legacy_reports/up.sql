-- What the provider of the legacy agents has told of its own accord, by its own id of the call: each once, however often it
-- comes, and perhaps before that id is known here. Kept for a day: what is older is not believed when it comes again.
CREATE TABLE legacy_reports (
    account_id uuid NOT NULL REFERENCES accounts (id),
    provider_call_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    conversation_id uuid,
    failure_reason TEXT,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, provider_call_id, kind)
);
CREATE INDEX legacy_reports_conversation ON legacy_reports (conversation_id);
CREATE INDEX legacy_reports_received ON legacy_reports (received_at);
