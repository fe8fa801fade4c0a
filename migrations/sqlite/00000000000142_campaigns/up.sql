-- Calls to many recipients by an engine agent.
CREATE TABLE campaigns (
    id BLOB NOT NULL PRIMARY KEY,
    account_id BLOB NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    agent_id BLOB NOT NULL REFERENCES agents (id),
    phone_number_id BLOB,
    -- A campaign that a member makes in the portal has no key.
    key_id BLOB REFERENCES api_keys (id),
    status TEXT NOT NULL,
    paused_reason TEXT,
    settings TEXT NOT NULL,
    total INTEGER NOT NULL CHECK (total >= 0),
    pending INTEGER NOT NULL CHECK (pending >= 0),
    dialing INTEGER NOT NULL CHECK (dialing >= 0),
    reached INTEGER NOT NULL CHECK (reached >= 0),
    unreached INTEGER NOT NULL CHECK (unreached >= 0),
    blocked INTEGER NOT NULL CHECK (blocked >= 0),
    -- What came of its calls: how many by outcome, and what they took.
    outcomes TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    -- Of the circuit breaker: the calls that ended since it last judged, and those that failed.
    judged_calls INTEGER NOT NULL,
    judged_failures INTEGER NOT NULL,
    -- The next call may be placed then.
    paced_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    look_at INTEGER NOT NULL
) STRICT;
CREATE INDEX campaigns_page ON campaigns (account_id, created_at, id);
CREATE INDEX campaigns_status ON campaigns (account_id, status, created_at, id);
CREATE INDEX campaigns_agent ON campaigns (account_id, agent_id, created_at, id);
CREATE INDEX campaigns_look ON campaigns (look_at);

CREATE TABLE campaign_recipients (
    id BLOB NOT NULL PRIMARY KEY,
    campaign_id BLOB NOT NULL REFERENCES campaigns (id),
    account_id BLOB NOT NULL,
    place INTEGER NOT NULL,
    number TEXT NOT NULL,
    name TEXT NOT NULL,
    variables TEXT NOT NULL,
    time_zone TEXT,
    consent TEXT,
    status TEXT NOT NULL,
    -- What came of the latest call, and the rule that refused it.
    outcome TEXT,
    blocked_by TEXT,
    attempts INTEGER NOT NULL,
    -- A machine has its message, which it gets once.
    has_message INTEGER NOT NULL,
    -- The customer asked to be called then.
    callback_at INTEGER,
    next_at INTEGER NOT NULL,
    conversation_id BLOB,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX campaign_recipients_number ON campaign_recipients (campaign_id, number);
CREATE UNIQUE INDEX campaign_recipients_place ON campaign_recipients (campaign_id, place);
CREATE INDEX campaign_recipients_status ON campaign_recipients (campaign_id, status, place);
CREATE INDEX campaign_recipients_due ON campaign_recipients (campaign_id, next_at, place) WHERE status = 'pending';

-- Of a campaign's call: when it may be dialed, besides its account's rules, as JSON.
ALTER TABLE conversations ADD COLUMN campaign_id BLOB;
ALTER TABLE conversations ADD COLUMN dial_window TEXT;
