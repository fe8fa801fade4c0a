-- The voices that the providers listed when they were last asked with success. Processes keep them in memory, in the
-- list's order; service_settings has a row that changes with them.
CREATE TABLE voices (
    provider TEXT NOT NULL,
    voice_id TEXT NOT NULL,
    name TEXT NOT NULL,
    gender TEXT,
    age TEXT,
    accent TEXT,
    language TEXT,
    languages TEXT NOT NULL,
    locales TEXT NOT NULL,
    description TEXT,
    use_case TEXT,
    preview_url TEXT,
    model_compat TEXT NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (provider, voice_id)
) STRICT;
