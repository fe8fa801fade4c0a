-- The voices that the providers listed when they were last asked with success. Processes keep them in memory, in the
-- list's order; service_settings has a row that changes with them.
CREATE TABLE voices (
    provider TEXT NOT NULL,
    voice_id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    gender TEXT,
    age TEXT,
    accent TEXT,
    language TEXT,
    languages json NOT NULL,
    locales json NOT NULL,
    description TEXT,
    use_case TEXT,
    preview_url TEXT,
    model_compat json NOT NULL,
    source TEXT NOT NULL,
    PRIMARY KEY (provider, voice_id)
);
