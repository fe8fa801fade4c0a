-- Each filter of the list of agents is served by an index, however rare its value.
CREATE INDEX agents_runtime ON agents (account_id, runtime, created_at, id);
CREATE INDEX agents_status ON agents (account_id, status, created_at, id);
CREATE INDEX agents_runtime_status ON agents (account_id, runtime, status, created_at, id);

-- A state with a type; a state alone is one scan for each of the few types.
DROP INDEX deliveries_status;
CREATE INDEX deliveries_status_type ON deliveries (account_id, state, event_type, created_at, id);
