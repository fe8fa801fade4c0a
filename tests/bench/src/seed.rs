//! Rows in bulk, and the few that the use cases create.

use anyhow::anyhow;
use offhook_domain::{AccountId, AgentId, Clock as _, EndpointId, Json, KeyId, Plan, Scopes};
use offhook_services::{Services, SystemClock};

use crate::database::{Database, Place};

/// An account with a key and a published agent.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    pub(crate) account: AccountId,
    pub(crate) agent: AgentId,
    pub(crate) key: KeyId,
    pub(crate) token: String,
}

impl Tenant {
    /// The headers of its requests.
    pub(crate) fn headers(&self) -> String {
        let token = &self.token;
        format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n")
    }

    /// The body of a request to place a call.
    pub(crate) fn call(&self) -> String {
        let agent = self.agent;
        format!(
            r#"{{"agent_id":"{agent}","to":"+14155550123","metadata":{{"name":"Ana","order":"4711"}}}}"#
        )
    }
}

/// The services over a database, to create data before a measurement.
pub(crate) async fn open(database: &Database) -> anyhow::Result<Services> {
    crate::service::services(database.place.open().await?)
}

/// Creates `count` accounts.
pub(crate) async fn tenants(services: &Services, count: usize) -> anyhow::Result<Vec<Tenant>> {
    let mut tenants = Vec::new();
    for number in 0..count {
        let name = format!("Account {number}");
        let credits = Some(1_000_000_000);
        let account = services.accounts();
        let account = account
            .create(&name, Plan::Enterprise, credits, None, None)
            .await?
            .id;
        let keys = services.keys();
        let key = keys.create(account, "bench", Scopes::all(), false, None, None);
        let (key, token) = key.await?;
        let agent = agent(services, account, "Eva").await?;
        tenants.push(Tenant {
            account,
            agent,
            key: key.id,
            token,
        });
    }
    Ok(tenants)
}

/// Creates a published agent.
pub(crate) async fn agent(
    services: &Services,
    account: AccountId,
    name: &str,
) -> anyhow::Result<AgentId> {
    let body = format!(
        r#"{{"name":"{name}","language":"en-US","config":{{
            "system_prompt":"You are Eva.\nsay: Lovely. Shall we expect you at six?\nsay: Goodbye!",
            "first_message":"Hello {{{{name}}}}, this is Eva.",
            "llm":{{"provider":"scripted","model":"scripted"}},
            "dynamic_variables":{{"name":{{"default":"there"}}}}}}}}"#
    );
    let body = Json::parse(body.as_bytes()).map_err(|error| anyhow!("{error:?}"))?;
    let made = services.agents().create(account, &body).await;
    let id = made.map_err(|error| anyhow!("{error:?}"))?.agent.id;
    let body = Json::parse(b"{}").map_err(|error| anyhow!("{error:?}"))?;
    let published = services.agents().publish(account, id, &body).await;
    published.map_err(|error| anyhow!("{error:?}"))?;
    Ok(id)
}

/// Creates a webhook endpoint.
pub(crate) async fn endpoint(
    services: &Services,
    account: AccountId,
    url: &str,
) -> anyhow::Result<EndpointId> {
    let body = Json::parse(format!(r#"{{"url":"{url}"}}"#).as_bytes());
    let body = body.map_err(|error| anyhow!("{error:?}"))?;
    let made = services.webhooks().create(account, &body).await;
    Ok(made.map_err(|error| anyhow!("{error:?}"))?.view.endpoint.id)
}

/// Seconds between two bulk conversations.
const APART_S: i64 = 10;

/// The agents of bulk conversations: most have the first, 1 % the second, 0.01 % the third.
pub(crate) type Agents = [AgentId; 3];

/// The customers of bulk conversations, distributed likewise.
pub(crate) const CUSTOMERS: [&str; 3] = ["+14155550101", "+14155550102", "+14155550103"];

/// Creates an account's agents for bulk conversations.
pub(crate) async fn agents(services: &Services, tenant: &Tenant) -> anyhow::Result<Agents> {
    Ok([
        tenant.agent,
        agent(services, tenant.account, "Ben").await?,
        agent(services, tenant.account, "Cleo").await?,
    ])
}

/// Writes `count` conversations of an account, the newest of which began just now. Rare values are spread evenly over
/// the rows, and independently per column. The ids are numbers from `first` on.
pub(crate) async fn conversations(
    database: &Database,
    account: AccountId,
    agents: Agents,
    (first, count): (i64, i64),
) -> anyhow::Result<()> {
    let first_us = SystemClock.now().micros() - count * APART_S * 1_000_000;
    let sqlite = matches!(database.place, Place::Sqlite(_));
    let uuid = |id: String| match sqlite {
        true => format!("x'{}'", id.replace('-', "")),
        false => format!("'{id}'::uuid"),
    };
    let instant = |us: String| match sqlite {
        true => us,
        false => format!("to_timestamp(({us}) / 1000000.0)"),
    };
    let id = match sqlite {
        true => format!("unhex(printf('01980000000070008000%012x', i + {first}))"),
        false => {
            format!("('01980000-0000-7000-8000-' || lpad(to_hex(i + {first}), 12, '0'))::uuid")
        }
    };
    let pick = |hundredth: i64, ten_thousandth: i64, [most, some, few]: [String; 3]| {
        format!(
            "CASE WHEN i % 100 = {hundredth} THEN {some} WHEN i % 10000 = {ten_thousandth} THEN {few} ELSE {most} END"
        )
    };
    let words = |words: [&str; 3]| words.map(|word| format!("'{word}'"));
    let [agent, status, channel, customer] = [
        pick(7, 11, agents.map(|agent| uuid(agent.to_string()))),
        pick(13, 17, words(["completed", "failed", "unknown"])),
        pick(23, 29, words(["phone", "widget_voice", "whatsapp"])),
        pick(31, 37, words(CUSTOMERS)),
    ];
    let ours = offhook_carriers::SHARED_NUMBER;
    let began = instant(format!("{first_us} + i * {APART_S} * 1000000"));
    let ended = instant(format!("{first_us} + (i * {APART_S} + 95) * 1000000"));
    let account = uuid(account.to_string());
    let last = count - 1;
    let (before, numbers) = match sqlite {
        true => (
            format!(
                "WITH RECURSIVE seq(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM seq WHERE i < {last})"
            ),
            "seq".to_owned(),
        ),
        // Foreign keys are correct by construction; checking them row by row would take most of the time.
        false => (
            "SET session_replication_role = replica;".to_owned(),
            format!("generate_series(0::bigint, {last}) AS seq(i)"),
        ),
    };
    let sql = format!(
        "{before} INSERT INTO conversations (id, account_id, agent_id, agent_ref, agent_version, runtime, channel, \
           voice, state, status, from_number, to_number, customer_phone, metadata, price_millicredits, started_at, \
           answered_at, ended_at, duration_seconds, credits, summary, has_audio, termination_reason, \
           messages_count, last_seq, hangup_requested) \
         SELECT {id}, {account}, {agent}, 'agent', 1, 'engine', {channel}, true, 'completed', {status}, \
           CASE WHEN i % 2 = 0 THEN '{ours}' ELSE {customer} END, \
           CASE WHEN i % 2 = 0 THEN {customer} ELSE '{ours}' END, \
           {customer}, '{{\"order\":\"4711\"}}', 1000, {began}, {began}, {ended}, 90, 2, \
           'The customer confirmed the booking for tomorrow at six and had no more questions.', false, \
           'customer_hangup', 8, 12, false FROM {numbers}"
    );
    database.execute(&sql).await?;
    if !sqlite {
        database
            .execute("SET session_replication_role = origin")
            .await?;
        database.execute("VACUUM ANALYZE conversations").await?;
        database.execute("CHECKPOINT").await?;
    }
    Ok(())
}

/// Replaces all deliveries of a PostgreSQL database with `count` open ones, spread over the accounts' endpoints.
pub(crate) async fn backlog(
    database: &Database,
    endpoints: &[(AccountId, EndpointId)],
    count: usize,
    size: usize,
) -> anyhow::Result<()> {
    let accounts: Vec<String> = endpoints.iter().map(|(a, _)| format!("'{a}'")).collect();
    let ids: Vec<String> = endpoints.iter().map(|(_, e)| format!("'{e}'")).collect();
    let (accounts, ids, of) = (accounts.join(","), ids.join(","), endpoints.len());
    let sql = format!(
        "BEGIN; TRUNCATE deliveries, attempts, events, resends; \
         CREATE TEMPORARY TABLE made ON COMMIT DROP AS \
           SELECT (ARRAY[{accounts}]::uuid[])[i % {of} + 1] AS account_id, \
             (ARRAY[{ids}]::uuid[])[i % {of} + 1] AS endpoint_id, \
             ('01980000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid AS id \
           FROM generate_series(0, {count} - 1) AS s(i); \
         INSERT INTO events (id, account_id, type, body, created_at) \
           SELECT id, account_id, 'call.completed', convert_to(rpad('{{\"id\":\"' || id || '\",\"type\":\"call.completed\"', \
             {size} - 1, ' ') || '}}', 'UTF8'), now() FROM made; \
         INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, \
             abandoned_count, next_attempt_at, created_at) \
           SELECT id, account_id, endpoint_id, id, 'call.completed', 'pending', 0, 0, now(), now() FROM made; \
         COMMIT"
    );
    database.execute(&sql).await?;
    database.execute("ANALYZE deliveries").await?;
    database.execute("ANALYZE events").await?;
    database.execute("CHECKPOINT").await
}
