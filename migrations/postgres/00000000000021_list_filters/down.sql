DROP INDEX deliveries_status_type;
CREATE INDEX deliveries_status ON deliveries (account_id, state, created_at, id);
DROP INDEX agents_runtime_status;
DROP INDEX agents_status;
DROP INDEX agents_runtime;
