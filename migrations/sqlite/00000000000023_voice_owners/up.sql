-- Who shares a voice of a provider's shared library: its owner is asked for when the voice is added to the workspace.
ALTER TABLE voices ADD COLUMN owner_id TEXT;

-- The lists that are there do not say it: they are asked for anew.
DELETE FROM jobs WHERE name = 'voices';
