-- How many event streams a key has open in a process. What a process leaves behind counts no more once its lease is over.
CREATE TABLE open_streams (
    key_id BLOB NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    node_id BLOB NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    streams INTEGER NOT NULL,
    PRIMARY KEY (key_id, node_id)
) STRICT;
CREATE INDEX open_streams_node ON open_streams (node_id);
