//! Phone numbers.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, E164, NumberProvider, PhoneNumberId, Timestamp};

use super::pages::behind;
use crate::database::{Conn, Db};
use crate::schema::{accounts, agent_versions as versions, agents, phone_numbers as numbers};
use crate::sql::V;
use crate::{Account, Agent, CalledNumber, NumberChange, PageKey, PhoneNumber, Result, Store};

/// Writes a number; `false` if an account has it already.
pub(crate) async fn insert(conn: &mut Conn, number: PhoneNumber) -> Result<bool> {
    diesel::insert_into(numbers::table)
        .values((
            numbers::id.eq(V(number.id)),
            numbers::account_id.eq(V(number.account_id)),
            numbers::phone_number.eq(V(number.phone_number)),
            numbers::label.eq(number.label),
            numbers::provider.eq(V(number.provider)),
            numbers::agent_id.eq(number.agent_id),
            numbers::created_at.eq(V(number.created_at)),
            numbers::updated_at.eq(V(number.updated_at)),
        ))
        .on_conflict_do_nothing()
        .changes(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: PhoneNumberId,
) -> Result<Option<PhoneNumber>> {
    Ok(numbers::table
        .filter(numbers::id.eq(V(id)))
        .filter(numbers::account_id.eq(V(account)))
        .select(PhoneNumber::as_select())
        .found(conn)
        .await?)
}

/// Whose numbers are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Among {
    /// Those of every account whose calls come by a trunk.
    Trunks,
    /// The account's own.
    Own(AccountId),
}

/// Who has a number: the account, and the agent that answers there, as it is published.
pub(crate) async fn who_has(
    conn: &mut Conn,
    number: E164,
    among: Among,
) -> Result<Option<CalledNumber>> {
    let published = versions::agent_id.nullable().eq(agents::id.nullable()).and(
        versions::version
            .nullable()
            .eq(agents::published_version.nullable()),
    );
    let query = numbers::table
        .inner_join(accounts::table.on(accounts::id.eq(numbers::account_id)))
        .left_join(agents::table.on(numbers::agent_id.eq(agents::id.nullable())))
        .left_join(versions::table.on(published))
        .filter(numbers::phone_number.eq(V(number)))
        .into_boxed::<Db>();
    let query = match among {
        Among::Trunks => query.filter(numbers::provider.eq(V(NumberProvider::Sip))),
        Among::Own(account) => query.filter(numbers::account_id.eq(V(account))),
    };
    let found: Option<(Account, Option<Agent>, Option<String>)> = query
        .select((
            Account::as_select(),
            Option::<Agent>::as_select(),
            versions::config.nullable(),
        ))
        .found(conn)
        .await?;
    Ok(found.map(|(account, agent, config)| CalledNumber {
        account,
        agent,
        config,
    }))
}

/// Whether the account itself has this number.
pub(crate) async fn has(conn: &mut Conn, account: AccountId, number: &E164) -> Result<bool> {
    let found: Option<PhoneNumberId> = numbers::table
        .filter(numbers::phone_number.eq(V(number.clone())))
        .filter(numbers::account_id.eq(V(account)))
        .select(numbers::id)
        .found(conn)
        .await?;
    Ok(found.is_some())
}

impl Store {
    /// A page of the account's numbers, newest first, with one more than `limit` if there is a next page.
    pub fn numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        after: Option<PageKey<PhoneNumberId>>,
        limit: i64,
    ) -> Answer<'_, Vec<PhoneNumber>> {
        read!(self, |conn| {
            let mut query = numbers::table
                .filter(numbers::account_id.eq(V(account)))
                .order((numbers::created_at.desc(), numbers::id.desc()))
                .limit(limit + 1)
                .select(PhoneNumber::as_select())
                .into_boxed::<Db>();
            if let Some(agent) = agent {
                query = query.filter(numbers::agent_id.eq(V(agent)));
            }
            Ok(behind!(query, numbers, after).load(conn).await?)
        })
    }

    /// Takes a number from the account; `false` if it has no such one.
    pub fn delete_number(&self, account: AccountId, id: PhoneNumberId) -> Answer<'_, bool> {
        keep!(self, |conn| {
            diesel::delete(numbers::table)
                .filter(numbers::id.eq(V(id)))
                .filter(numbers::account_id.eq(V(account)))
                .changes(conn)
                .await
        })
    }

    /// The numbers of these agents of the account, each agent's oldest first.
    pub fn numbers_of_agents(
        &self,
        account: AccountId,
        agents: Vec<AgentId>,
    ) -> Answer<'_, Vec<PhoneNumber>> {
        read!(self, |conn| {
            if agents.is_empty() {
                return Ok(Vec::new());
            }
            Ok(numbers::table
                .filter(numbers::account_id.eq(V(account)))
                .filter(numbers::agent_id.eq_any(agents.iter().copied().map(V)))
                .order((numbers::created_at, numbers::id))
                .select(PhoneNumber::as_select())
                .load(conn)
                .await?)
        })
    }
}

/// Applies a change; `false` if the account has no such number.
pub(crate) async fn change(
    conn: &mut Conn,
    account: AccountId,
    id: PhoneNumberId,
    change: NumberChange,
    at: Timestamp,
) -> Result<bool> {
    diesel::update(numbers::table)
        .filter(numbers::id.eq(V(id)))
        .filter(numbers::account_id.eq(V(account)))
        .set((
            change.label.map(|label| numbers::label.eq(label)),
            change.agent.map(|agent| numbers::agent_id.eq(agent)),
            numbers::updated_at.eq(V(at)),
        ))
        .changes(conn)
        .await
}

/// Takes an agent's numbers from it: for its archiving.
pub(crate) async fn unassign(
    conn: &mut Conn,
    account: AccountId,
    agent: AgentId,
    at: Timestamp,
) -> Result<()> {
    diesel::update(numbers::table)
        .filter(numbers::account_id.eq(V(account)))
        .filter(numbers::agent_id.eq(V(agent)))
        .set((
            numbers::agent_id.eq(None::<AgentId>),
            numbers::updated_at.eq(V(at)),
        ))
        .run(conn)
        .await
}

/// Gives a number of the account's that nobody has to an agent: to one that had it before it went.
pub(crate) async fn give_back(
    conn: &mut Conn,
    account: AccountId,
    number: E164,
    agent: AgentId,
    at: Timestamp,
) -> Result<()> {
    diesel::update(numbers::table)
        .filter(numbers::phone_number.eq(V(number)))
        .filter(numbers::account_id.eq(V(account)))
        .filter(numbers::agent_id.is_null())
        .set((
            numbers::agent_id.eq(Some(agent)),
            numbers::updated_at.eq(V(at)),
        ))
        .run(conn)
        .await
}
