-- Calls to many recipients by an engine agent.
CREATE TABLE campaigns (
    id uuid NOT NULL PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    agent_id uuid NOT NULL REFERENCES agents (id),
    phone_number_id uuid,
    -- A campaign that a member makes in the portal has no key.
    key_id uuid REFERENCES api_keys (id),
    status TEXT NOT NULL COLLATE "C",
    paused_reason TEXT,
    settings TEXT NOT NULL,
    total integer NOT NULL CHECK (total >= 0),
    pending integer NOT NULL CHECK (pending >= 0),
    dialing integer NOT NULL CHECK (dialing >= 0),
    reached integer NOT NULL CHECK (reached >= 0),
    unreached integer NOT NULL CHECK (unreached >= 0),
    blocked integer NOT NULL CHECK (blocked >= 0),
    -- What came of its calls: how many by outcome, and what they took.
    outcomes TEXT NOT NULL,
    seconds bigint NOT NULL,
    credits bigint NOT NULL,
    -- Of the circuit breaker: the calls that ended since it last judged, and those that failed.
    judged_calls integer NOT NULL,
    judged_failures integer NOT NULL,
    -- The next call may be placed then.
    paced_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    look_at timestamptz NOT NULL
);
CREATE INDEX campaigns_page ON campaigns (account_id, created_at, id);
CREATE INDEX campaigns_status ON campaigns (account_id, status, created_at, id);
CREATE INDEX campaigns_agent ON campaigns (account_id, agent_id, created_at, id);
CREATE INDEX campaigns_look ON campaigns (look_at);

CREATE TABLE campaign_recipients (
    id uuid NOT NULL PRIMARY KEY,
    campaign_id uuid NOT NULL REFERENCES campaigns (id),
    account_id uuid NOT NULL,
    place integer NOT NULL,
    number TEXT NOT NULL COLLATE "C",
    name TEXT NOT NULL,
    variables json NOT NULL,
    time_zone TEXT,
    consent TEXT,
    status TEXT NOT NULL COLLATE "C",
    -- What came of the latest call, and the rule that refused it.
    outcome TEXT,
    blocked_by TEXT,
    attempts integer NOT NULL,
    -- A machine has its message, which it gets once.
    has_message boolean NOT NULL,
    -- The customer asked to be called then.
    callback_at timestamptz,
    next_at timestamptz NOT NULL,
    conversation_id uuid,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX campaign_recipients_number ON campaign_recipients (campaign_id, number);
CREATE UNIQUE INDEX campaign_recipients_place ON campaign_recipients (campaign_id, place);
CREATE INDEX campaign_recipients_status ON campaign_recipients (campaign_id, status, place);
CREATE INDEX campaign_recipients_due ON campaign_recipients (campaign_id, next_at, place) WHERE status = 'pending';

-- Of a campaign's call: when it may be dialed, besides its account's rules, as JSON.
ALTER TABLE conversations ADD COLUMN campaign_id uuid;
ALTER TABLE conversations ADD COLUMN dial_window TEXT;
