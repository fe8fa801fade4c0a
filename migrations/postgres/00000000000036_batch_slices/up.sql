-- Parts of batches that are handed to the provider in one request. The row is written before the request leaves, and
-- names it: a slice that may have left is looked for under its name, and is never sent again.
CREATE TABLE batch_slices (
    id uuid NOT NULL PRIMARY KEY,
    batch_id uuid NOT NULL REFERENCES batch_calls (id),
    provider_batch_id TEXT,
    created_at timestamptz NOT NULL
);
CREATE INDEX batch_slices_batch ON batch_slices (batch_id);

-- The calls of a slice: a call is in one slice at most. Retention deletes them with the conversation.
CREATE TABLE batch_slice_calls (
    conversation_id uuid NOT NULL PRIMARY KEY,
    slice_id uuid NOT NULL REFERENCES batch_slices (id)
);
CREATE INDEX batch_slice_calls_slice ON batch_slice_calls (slice_id);
