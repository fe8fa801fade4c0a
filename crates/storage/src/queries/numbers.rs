use super::agents as agent_rows;
use crate::prelude::*;

/// Inserts a number; `false` if an account has it already.
pub(crate) async fn insert(conn: &mut Conn, number: PhoneNumber) -> Result<bool> {
    insert_new! {
        conn, numbers of number: id, account_id, phone_number, label, provider, agent_id,
        created_at, updated_at, is_proven, at_legacy, by_credential
    }
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: PhoneNumberId,
) -> Result<Option<PhoneNumber>> {
    Ok(own!(numbers, account, id)
        .select(PhoneNumber::as_select())
        .found(conn)
        .await?)
}

/// Which numbers to search.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Among {
    /// Those of every account, whose calls this carrier delivers.
    All(NumberProvider),
    /// The account's own.
    Own(AccountId),
}

/// The account that owns a number and has proved it, and the agent that answers there, as published.
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
        .filter(numbers::is_proven)
        .into_boxed::<Db>();
    let query = match among {
        Among::All(provider) => query.filter(numbers::provider.eq(V(provider))),
        Among::Own(account) => query.filter(numbers::account_id.eq(V(account))),
    };
    Ok(query
        .select((
            Account::as_select(),
            Option::<Agent>::as_select(),
            versions::config.nullable(),
        ))
        .found(conn)
        .await?)
}

/// Removes all numbers from an agent that is archived.
pub(crate) async fn unassign(
    conn: &mut Conn,
    account: AccountId,
    agent: AgentId,
    at: Timestamp,
) -> Result<()> {
    diesel::update(numbers::table)
        .filter(numbers::account_id.eq(V(account)))
        .filter(numbers::agent_id.eq(Some(agent)))
        .set(row! { numbers: agent_id = NULL, updated_at = at })
        .run(conn)
        .await
}

/// Records that the legacy provider lists a number of the account.
pub(crate) async fn at_legacy(conn: &mut Conn, account: AccountId, number: E164) -> Result<()> {
    diesel::update(numbers::table)
        .filter(numbers::phone_number.eq(V(number)))
        .filter(numbers::account_id.eq(V(account)))
        .filter(not(numbers::at_legacy))
        .set(numbers::at_legacy.eq(true))
        .run(conn)
        .await
}

/// Assigns an unassigned number of the account to an agent: one that had it before it was removed.
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
        .set(row! { numbers: agent_id = agent, updated_at = at })
        .run(conn)
        .await
}

#[boxed]
impl Tx<'_> {
    pub async fn number(
        &mut self,
        account: AccountId,
        id: PhoneNumberId,
    ) -> Result<Option<PhoneNumber>> {
        find(self.0, account, id).await
    }

    pub async fn agent(&mut self, account: AccountId, id: AgentId) -> Result<Option<Agent>> {
        agent_rows::find(self.0, account, id).await
    }

    /// Inserts a number; `false` if an account has it already.
    pub async fn insert_number(&mut self, number: PhoneNumber) -> Result<bool> {
        insert(self.0, number).await
    }

    /// Makes room for a number that its account has proved to own: deletes the rows of other accounts for which it was
    /// only listed. The account's own unproved row, if there is one, becomes the proved one.
    pub async fn prove_number(&mut self, number: &PhoneNumber) -> Result<Option<PhoneNumber>> {
        let unproven = || {
            numbers::phone_number
                .eq(V(number.phone_number.clone()))
                .and(not(numbers::is_proven))
        };
        diesel::delete(numbers::table)
            .filter(unproven())
            .filter(numbers::account_id.ne(V(number.account_id)))
            .execute(self.0)
            .await?;
        diesel::update(numbers::table)
            .filter(unproven())
            .set((
                row! { numbers of number: is_proven = true, provider, by_credential },
                number
                    .agent_id
                    .map(|agent| numbers::agent_id.eq(Some(agent))),
                numbers::updated_at.eq(V(number.updated_at)),
            ))
            .returning(PhoneNumber::as_returning())
            .returned(self.0)
            .await
    }

    /// Makes the account's number use the account's own credential, if this one does. `false` if the account does not
    /// have the number.
    pub async fn use_credential(&mut self, number: &PhoneNumber) -> Result<bool> {
        diesel::update(numbers::table)
            .filter(numbers::phone_number.eq(V(number.phone_number.clone())))
            .filter(numbers::account_id.eq(V(number.account_id)))
            .set(
                numbers::by_credential
                    .eq(numbers::by_credential.or::<bool, Bool>(number.by_credential)),
            )
            .changes(self.0)
            .await
    }

    pub async fn change_number(
        &mut self,
        account: AccountId,
        id: PhoneNumberId,
        change: NumberChange,
        at: Timestamp,
    ) -> Result<Option<PhoneNumber>> {
        diesel::update(own!(numbers, account, id))
            .set((
                change.label.map(|label| numbers::label.eq(label)),
                change.agent.map(|agent| numbers::agent_id.eq(agent)),
                numbers::updated_at.eq(V(at)),
            ))
            .execute(self.0)
            .await?;
        find(self.0, account, id).await
    }
}

impl Store {
    /// The owner of a number whose calls this carrier delivers; `None` if no account has it. The caller names no
    /// account, because an inbound call does not know one.
    pub fn called_number(
        &self,
        number: E164,
        carrier: NumberProvider,
    ) -> Answer<'_, Option<CalledNumber>> {
        let among = Among::All(carrier);
        read!(self, |conn| who_has(conn, number, among).await)
    }

    /// A page of the account's numbers, newest first, with one more than `limit` if there is a next page.
    pub fn numbers(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        after: Option<PageKey<PhoneNumberId>>,
        limit: i64,
    ) -> Answer<'_, Vec<PhoneNumber>> {
        let query = newest!(numbers, PhoneNumber, account, limit)
            .when(agent, |agent| numbers::agent_id.eq(Some(agent)));
        behind!(query, numbers, after).read_all(self)
    }

    /// Removes a number from the account; `false` if it does not have it.
    pub fn delete_number(&self, account: AccountId, id: PhoneNumberId) -> Answer<'_, bool> {
        diesel::delete(own!(numbers, account, id)).commit_change(self)
    }

    /// The numbers of these agents of the account, oldest first per agent.
    pub fn numbers_of_agents(
        &self,
        account: AccountId,
        agents: Vec<AgentId>,
    ) -> Answer<'_, Vec<PhoneNumber>> {
        read!(self, |conn| {
            ensure!(!agents.is_empty(), Vec::new());
            Ok(numbers::table
                .filter(numbers::account_id.eq(V(account)))
                .filter(numbers::agent_id.eq_any(agents.into_iter().map(Some)))
                .order((numbers::created_at, numbers::id))
                .select(PhoneNumber::as_select())
                .load(conn)
                .await?)
        })
    }

    /// The owner of a number, and whether its calls use that account's own credential. `None` without a proved owner.
    pub fn owner_of_number(&self, number: E164) -> Answer<'_, Option<(AccountId, bool)>> {
        numbers::table
            .filter(numbers::phone_number.eq(V(number)))
            .filter(numbers::is_proven)
            .select((numbers::account_id, numbers::by_credential))
            .read_first(self)
    }

    pub fn number(&self, account: AccountId, id: PhoneNumberId) -> Answer<'_, Option<PhoneNumber>> {
        read!(self, |conn| find(conn, account, id).await)
    }
}
