//! People who sign in, their passwords and links, and the audit log.

use super::{accounts as all_accounts, attempts, second_factors, sessions, team};
use crate::prelude::*;

/// The setting with the first account that was created in the portal.
const FIRST_ACCOUNT: &str = "first_account";

/// Writes a line of the audit log: actor, action, target.
pub(crate) async fn audit(
    conn: &mut Conn,
    account: impl Into<Option<AccountId>>,
    (actor, action, target): (impl ToString, &str, impl ToString),
    at: Timestamp,
) -> Result<()> {
    insert! {
        conn, audit_log: id = mint::<EventId>(at), account_id = account.into(),
        actor = actor.to_string(), action = action.to_owned(), target = target.to_string(), at
    }
}

/// The person's password, if one was ever set.
async fn password(conn: &mut Conn, email: &EmailAddress) -> Result<Option<Password>> {
    Ok(people::table
        .find(V(email))
        .select(Password::as_select())
        .found(conn)
        .await?)
}

/// Sets the person's password, whether there was one or not. A new row is not marked `by_invitation`; an existing row
/// keeps its mark.
async fn set_password(
    conn: &mut Conn,
    email: &EmailAddress,
    hash: &str,
    at: Timestamp,
) -> Result<()> {
    let set = (people::password.eq(hash), people::changed_at.eq(V(at)));
    diesel::insert_into(people::table)
        .values((
            people::email.eq(V(email)),
            set,
            people::by_invitation.eq(false),
        ))
        .on_conflict(people::email)
        .do_update()
        .set(set)
        .run(conn)
        .await
}

/// Whether the password is still the one set at `changed_at`. If so, locks it until the transaction ends.
pub(super) async fn hold_password(
    conn: &mut Conn,
    email: &EmailAddress,
    changed_at: Timestamp,
) -> Result<bool> {
    diesel::update(people::table.find(V(email)))
        .filter(people::changed_at.eq(V(changed_at)))
        .set(people::changed_at.eq(people::changed_at))
        .changes(conn)
        .await
}

/// Deletes the password, second factor and sessions of a person whose password was set with an invitation: that may have been someone
/// else. Call it before the operator makes the address a member of an account.
pub(crate) async fn distrust(conn: &mut Conn, email: &EmailAddress) -> Result<()> {
    let is_gone = diesel::delete(people::table.find(V(email)))
        .filter(people::by_invitation.eq(true))
        .changes(conn)
        .await?;
    if is_gone {
        second_factors::forget(conn, email).await?;
        sessions::end_all(conn, email).await?;
    }
    Ok(())
}

/// Every account that the person may enter with their password, oldest membership first. Where single sign-on is
/// required, only owners may.
pub(super) async fn memberships(conn: &mut Conn, email: &EmailAddress) -> Result<Vec<Membership>> {
    let required = single_sign_on::table
        .filter(single_sign_on::account_id.eq(members::account_id))
        .filter(single_sign_on::is_required);
    let may_enter = members::role
        .eq(V(MemberRole::Owner))
        .or(not(diesel::dsl::exists(required)));
    Ok(members::table
        .inner_join(accounts::table)
        .filter(members::email.eq(V(email)))
        .filter(may_enter)
        .order((members::joined_at, members::id))
        .select(Membership::as_select())
        .load(conn)
        .await?)
}

/// One membership.
pub(super) async fn membership(conn: &mut Conn, member: MemberId) -> Result<Option<Membership>> {
    Ok(members::table
        .inner_join(accounts::table)
        .filter(members::id.eq(V(member)))
        .select(Membership::as_select())
        .found(conn)
        .await?)
}

/// Whether the person is a member of an account.
pub(super) async fn is_member(conn: &mut Conn, email: &EmailAddress) -> Result<bool> {
    let theirs = members::table.filter(members::email.eq(V(email)));
    theirs.select(members::id).exists(conn).await
}

/// The account's member with this address.
pub(super) async fn member_of(
    conn: &mut Conn,
    account: AccountId,
    email: &EmailAddress,
) -> Result<Option<Member>> {
    Ok(members::table
        .filter(members::account_id.eq(V(account)))
        .filter(members::email.eq(V(email)))
        .select(Member::as_select())
        .found(conn)
        .await?)
}

async fn has_account(conn: &mut Conn) -> Result<bool> {
    accounts::table.select(accounts::id).exists(conn).await
}

impl Store {
    /// A page of the account's audit log, newest first, with one more than `limit` if there is a next page.
    pub fn audit(
        &self,
        account: AccountId,
        AuditFilter { actor, action }: AuditFilter,
        after: Option<PageKey<EventId>>,
        limit: i64,
    ) -> Answer<'_, Vec<AuditEntry>> {
        let mut query = audit_log::table
            .filter(audit_log::account_id.eq(V(account)))
            .order((audit_log::at.desc(), audit_log::id.desc()))
            .limit(limit + 1)
            .select(AuditEntry::as_select())
            .into_boxed::<Db>()
            .when(actor, |actor| audit_log::actor.eq(actor))
            // `agent` stands for every action on agents.
            .when(action, |action| {
                let all = format!("{action}.%");
                audit_log::action.eq(action).or(audit_log::action.like(all))
            });
        if let Some((at, id)) = after {
            query = query
                .filter(audit_log::at.le(V(at)))
                .filter(audit_log::at.lt(V(at)).or(audit_log::id.lt(V(id))));
        }
        query.read_all(self)
    }

    /// Whether the person is a member of an account, whatever enters it.
    pub fn is_member(&self, email: EmailAddress) -> Answer<'_, bool> {
        read!(self, |conn| is_member(conn, &email).await)
    }

    /// A person's password, and the memberships that it opens.
    pub fn person(&self, email: EmailAddress) -> Answer<'_, (Option<Password>, Vec<Membership>)> {
        read!(self, |conn| {
            let password = password(conn, &email).await?;
            Ok((password, memberships(conn, &email).await?))
        })
    }

    /// Counts a sign-in attempt under each key. Or returns the time until which attempts are refused, and counts
    /// nothing.
    pub fn take_attempt(
        &self,
        keys: Vec<AttemptKey>,
        rule: AttemptRule,
        now: Timestamp,
    ) -> Answer<'_, Result<(), Timestamp>> {
        transact!(self, |conn| {
            for key in keys {
                if let Err(until) = attempts::take(conn, key, &rule, now).await? {
                    return Ok(Rollback(Err(until)));
                }
            }
            Ok(Commit(Ok(())))
        })
    }

    /// Takes back an attempt that should not count: the whole count of `own`, and one of each `shared` key.
    pub fn give_back_attempt(
        &self,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
        now: Timestamp,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| attempts::take_back(conn, own, shared, now)
            .await)
    }

    /// Changes a password that is still the one of `changed_at`, ends all of the person's sessions and begins this one.
    /// `false` if the password has changed since.
    pub fn change_password(
        &self,
        member: Member,
        changed_at: Timestamp,
        hash: String,
        session: NewSession,
    ) -> Answer<'_, bool> {
        let (actor, at) = (self.actor, session.at);
        transact!(self, |conn| {
            let email = &member.email;
            if !hold_password(conn, email, changed_at).await? {
                return Ok(Rollback(false));
            }
            set_password(conn, email, &hash, at).await?;
            sessions::end_all(conn, email).await?;
            sessions::insert(conn, &session, &member).await?;
            let line = (actor, "password.change", member.id);
            audit(conn, member.account_id, line, at).await?;
            Ok(Commit(true))
        })
    }

    /// Creates a one-time link for a member of the account; `false` if no member has this address. `digest` is the
    /// SHA-256 of its token.
    pub fn create_link(
        &self,
        link: SignInLink,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Answer<'_, bool> {
        let actor = self.actor;
        transact!(self, |conn| {
            let account = link.account_id;
            let Some(member) = member_of(conn, account, &link.email).await? else {
                return Ok(Rollback(false));
            };
            insert! {
                conn, links of link: digest = digest, email, account_id = account, created_at = at,
                expires_at
            }?;
            audit(conn, account, (actor, "member.link", member.id), at).await?;
            Ok(Commit(true))
        })
    }

    /// The link with this token's digest if it is valid at `now`, the account that it was made for, and the person's
    /// password.
    pub fn link(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(SignInLink, Account, Option<Password>)>> {
        read!(self, |conn| {
            let link: Option<SignInLink> = links::table
                .find(digest.to_vec())
                .filter(links::expires_at.gt(V(now)))
                .select(SignInLink::as_select())
                .found(conn)
                .await?;
            let link = some_or!(link, None);
            let account = some_or!(all_accounts::find(conn, link.account_id).await?, None);
            let password = password(conn, &link.email).await?;
            Ok(Some((link, account, password)))
        })
    }

    /// Sets a password with a link. This uses up the link and deletes the person's other ones, removes their second
    /// factors, ends all their other sessions, deletes the count of `email_key`, and begins a session. Returns the member if the link was valid.
    pub fn set_password_by_link(
        &self,
        digest: [u8; 32],
        hash: String,
        session: NewSession,
        email_key: [u8; 32],
    ) -> Answer<'_, Option<Member>> {
        transact!(self, |conn| {
            let at = session.at;
            let used: Option<(EmailAddress, AccountId)> =
                diesel::delete(links::table.find(digest.to_vec()))
                    .filter(links::expires_at.gt(V(at)))
                    .returning((links::email, links::account_id))
                    .returned(conn)
                    .await?;
            let (email, account) = some_or!(used, Rollback(None));
            diesel::delete(links::table)
                .filter(links::email.eq(V(&email)))
                .execute(conn)
                .await?;
            let member = some_or!(member_of(conn, account, &email).await?, Rollback(None));
            attempts::forget(conn, email_key).await?;
            set_password(conn, &email, &hash, at).await?;
            // The operator vouches for the owner of the link.
            diesel::update(people::table.find(V(&email)))
                .set(people::by_invitation.eq(false))
                .execute(conn)
                .await?;
            // Before the sessions: one that a passkey begins meanwhile waits for its row, and does not outlive this.
            let had_factor = second_factors::forget(conn, &email).await?;
            sessions::end_all(conn, &email).await?;
            sessions::insert(conn, &session, &member).await?;
            let actor = Actor::Member(member.id);
            audit(conn, account, (actor, "password.set", member.id), at).await?;
            if had_factor {
                audit(conn, account, (actor, "two_step.off", member.id), at).await?;
            }
            Ok(Commit(Some(member)))
        })
    }

    /// The invitation with this token's digest if it is valid at `now`, its account, and the person's password.
    pub fn invitation(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(Invitation, Account, Option<Password>)>> {
        read!(self, |conn| {
            let invitation = some_or!(team::invitation(conn, digest, now).await?, None);
            let account = some_or!(all_accounts::find(conn, invitation.account_id).await?, None);
            let password = password(conn, &invitation.email).await?;
            Ok(Some((invitation, account, password)))
        })
    }

    /// Makes the invited person a member, and begins a session, or what waits for a code before. `None` if the invitation is no longer valid, or the
    /// password has changed since.
    pub fn accept_invitation(
        &self,
        digest: [u8; 32],
        name: String,
        with: JoinsWith,
        session: NewSession,
    ) -> Answer<'_, Option<(Member, Begun)>> {
        transact!(self, |conn| {
            let at = session.at;
            let found = some_or!(team::invitation(conn, digest, at).await?, Rollback(None));
            let account = found.account_id;
            // First, in the lock order of all changes of the team.
            team::hold_seats(conn, account, 1).await?;
            let taken = team::delete_invitation(conn, account, &found.email).await?;
            let invitation = some_or!(taken.filter(|taken| taken.id == found.id), Rollback(None));
            let email = invitation.email;
            let is_set = match &with {
                JoinsWith::First(hash) => {
                    // The operator has made the address a member elsewhere; an invitation does not prove who its owner
                    // is.
                    ensure!(!is_member(conn, &email).await?, Rollback(None));
                    diesel::insert_into(people::table)
                        .values(row! {
                            people: email = &email, password = hash, changed_at = at,
                            by_invitation = true
                        })
                        .on_conflict_do_nothing()
                        .changes(conn)
                        .await?
                }
                JoinsWith::Known(changed_at) => hold_password(conn, &email, *changed_at).await?,
            };
            ensure!(is_set, Rollback(None));
            let member = Member {
                id: mint(at),
                account_id: account,
                name,
                email,
                role: invitation.role,
                joined_at: at,
            };
            team::insert_member(conn, &member).await?;
            let begun = match with {
                JoinsWith::First(_) => {
                    sessions::insert(conn, &session, &member).await?;
                    Begun::Session
                }
                JoinsWith::Known(changed_at) => {
                    second_factors::begin(conn, &session, &member, changed_at).await?
                }
            };
            let line = (Actor::Member(member.id), "member.join", member.id);
            audit(conn, account, line, at).await?;
            Ok(Commit(Some((member, begun))))
        })
    }

    pub fn has_account(&self) -> Answer<'_, bool> {
        read!(self, |conn| has_account(conn).await)
    }

    /// Creates the first account, its owner with a password, and a session for the owner; `false` if there is an
    /// account.
    pub fn begin_service(
        &self,
        account: Account,
        credits: Option<NewLedgerEntry>,
        (owner, hash): (Member, String),
        session: NewSession,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            // Of two concurrent calls the second waits, and finds the setting taken.
            let is_first = insert_new! {
                conn, settings: name = FIRST_ACCOUNT, value = account.id.to_string()
            }?;
            if !is_first || has_account(conn).await? {
                return Ok(Rollback(false));
            }
            let actor = Actor::Member(owner.id).to_string();
            let member = owner.clone();
            all_accounts::begin(conn, &account, credits, Some(owner), &actor).await?;
            set_password(conn, &member.email, &hash, session.at).await?;
            sessions::insert(conn, &session, &member).await?;
            Ok(Commit(true))
        })
    }
}
