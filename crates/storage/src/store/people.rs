//! People who sign in, their links, passwords and invitations.

use offhook_domain::{EmailAddress, EventId, Timestamp};

use super::{Answer, keep, mint, read, write};
use crate::queries;
use crate::{
    Account, Actor, AttemptKey, AttemptRule, Invitation, JoinsWith, Member, Membership,
    NewLedgerEntry, NewSession, Password, Result, SignInLink, Store, Verdict,
};

impl Store {
    /// A person's password, and every account that they are a member of.
    pub fn person(&self, email: EmailAddress) -> Answer<'_, (Option<Password>, Vec<Membership>)> {
        read!(self, |conn| {
            let password = queries::people::password(conn, &email).await?;
            let memberships = queries::people::memberships(conn, &email).await?;
            Ok((password, memberships))
        })
    }

    /// Counts an attempt to sign in under each key; or says until when none is taken, and then counts nothing.
    pub fn take_attempt(
        &self,
        keys: Vec<AttemptKey>,
        rule: AttemptRule,
        now: Timestamp,
    ) -> Answer<'_, Result<(), Timestamp>> {
        write!(self, |conn| {
            for key in keys {
                if let Err(until) = queries::attempts::take(conn, key, &rule, now).await? {
                    return Ok(Verdict::Rollback(Err(until)));
                }
            }
            Ok(Verdict::Commit(Ok(())))
        })
    }

    /// Takes back an attempt that turned out to be none: all of `own`, one of each that is `shared`.
    pub fn give_back_attempt(
        &self,
        (own, shared): ([u8; 32], Vec<[u8; 32]>),
        now: Timestamp,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| queries::attempts::take_back(
            conn, own, shared, now
        )
        .await)
    }

    /// Changes a password that is still the one of `changed_at`, ends all of the person's sessions and begins this one;
    /// `false` if it is not.
    pub fn change_password(
        &self,
        member: Member,
        changed_at: Timestamp,
        hash: String,
        session: NewSession,
    ) -> Answer<'_, bool> {
        let (actor, at) = (self.actor(), session.at);
        write!(self, |conn| {
            let email = &member.email;
            if !queries::people::hold_password(conn, email, changed_at).await? {
                return Ok(Verdict::Rollback(false));
            }
            queries::people::set_password(conn, email, &hash, at).await?;
            queries::people::end_sessions(conn, email).await?;
            queries::people::insert_session(conn, &session, &member).await?;
            let (id, account): (EventId, _) = (mint(at), Some(member.account_id));
            let target = member.id.to_string();
            let words = (actor.as_str(), "password.change", target.as_str());
            queries::accounts::audit(conn, id.uuid(), account, words, at).await?;
            Ok(Verdict::Commit(true))
        })
    }

    /// Makes a one-time link for a member of the account; `false` without one of this address. `digest` is the SHA-256 of
    /// its token.
    pub fn create_link(
        &self,
        link: SignInLink,
        digest: [u8; 32],
        at: Timestamp,
    ) -> Answer<'_, bool> {
        let actor = self.actor();
        write!(self, |conn| {
            let account = link.account_id;
            let member = queries::people::member_of(conn, account, &link.email).await?;
            let Some(member) = member else {
                return Ok(Verdict::Rollback(false));
            };
            queries::people::insert_link(conn, digest, &link, at).await?;
            let (id, target): (EventId, _) = (mint(at), member.id.to_string());
            let words = (actor.as_str(), "member.link", target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(true))
        })
    }

    /// The link of this token's digest if it opens something at `now`, the account that it was made for, and the password
    /// that the person has.
    pub fn link(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(SignInLink, Account, Option<Password>)>> {
        read!(self, |conn| {
            let Some(link) = queries::people::link(conn, digest, now).await? else {
                return Ok(None);
            };
            let Some(account) = queries::accounts::find(conn, link.account_id).await? else {
                return Ok(None);
            };
            let password = queries::people::password(conn, &link.email).await?;
            Ok(Some((link, account, password)))
        })
    }

    /// Sets a password by a link, which opens nothing from then on: every other session of the person ends, what was
    /// counted under `email_key` is forgotten, and a session begins. The member, if the link opened anything.
    pub fn set_password_by_link(
        &self,
        digest: [u8; 32],
        hash: String,
        session: NewSession,
        email_key: [u8; 32],
    ) -> Answer<'_, Option<Member>> {
        write!(self, |conn| {
            let at = session.at;
            let Some((email, account)) = queries::people::use_link(conn, digest, at).await? else {
                return Ok(Verdict::Rollback(None));
            };
            let found = queries::people::member_of(conn, account, &email).await?;
            let Some(member) = found else {
                return Ok(Verdict::Rollback(None));
            };
            queries::attempts::forget(conn, email_key).await?;
            queries::people::set_password(conn, &email, &hash, at).await?;
            queries::people::vouch(conn, &email).await?;
            queries::people::end_sessions(conn, &email).await?;
            queries::people::insert_session(conn, &session, &member).await?;
            let (id, actor): (EventId, _) = (mint(at), Actor::Member(member.id).to_string());
            let target = member.id.to_string();
            let words = (actor.as_str(), "password.set", target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(Some(member)))
        })
    }

    /// The invitation of this token's digest if it opens something at `now`, its account, and the password that the
    /// person has.
    pub fn invitation(
        &self,
        digest: [u8; 32],
        now: Timestamp,
    ) -> Answer<'_, Option<(Invitation, Account, Option<Password>)>> {
        read!(self, |conn| {
            let found = queries::team::invitation(conn, digest, now).await?;
            let Some(invitation) = found else {
                return Ok(None);
            };
            let Some(account) = queries::accounts::find(conn, invitation.account_id).await? else {
                return Ok(None);
            };
            let password = queries::people::password(conn, &invitation.email).await?;
            Ok(Some((invitation, account, password)))
        })
    }

    /// Makes a member of whom an invitation was for, and begins a session. `None` if the invitation opens nothing any
    /// more, or the password is another one by now.
    pub fn accept_invitation(
        &self,
        digest: [u8; 32],
        name: String,
        with: JoinsWith,
        session: NewSession,
    ) -> Answer<'_, Option<Member>> {
        write!(self, |conn| {
            let at = session.at;
            let Some(found) = queries::team::invitation(conn, digest, at).await? else {
                return Ok(Verdict::Rollback(None));
            };
            let account = found.account_id;
            // First, as whoever changes the team does.
            queries::team::hold_seats(conn, account, 1).await?;
            let taken = queries::team::delete_invitation(conn, account, &found.email).await?;
            let Some(invitation) = taken.filter(|taken| taken.id == found.id) else {
                return Ok(Verdict::Rollback(None));
            };
            let is_set = match &with {
                JoinsWith::First(hash) => {
                    // The operator has given the address a place elsewhere: an invitation does not say who that is.
                    let places = queries::people::memberships(conn, &invitation.email).await?;
                    if !places.is_empty() {
                        return Ok(Verdict::Rollback(None));
                    }
                    queries::people::set_first_password(conn, &invitation.email, hash, at).await?
                }
                JoinsWith::Known(changed_at) => {
                    queries::people::hold_password(conn, &invitation.email, *changed_at).await?
                }
            };
            if !is_set {
                return Ok(Verdict::Rollback(None));
            }
            let member = Member {
                id: mint(at),
                account_id: account,
                name,
                email: invitation.email,
                role: invitation.role,
                joined_at: at,
            };
            queries::team::insert_member(conn, member.clone()).await?;
            queries::people::insert_session(conn, &session, &member).await?;
            let (id, actor): (EventId, _) = (mint(at), Actor::Member(member.id).to_string());
            let target = member.id.to_string();
            let words = (actor.as_str(), "member.join", target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(Some(member)))
        })
    }

    /// Whether there is any account.
    pub fn has_account(&self) -> Answer<'_, bool> {
        read!(self, |conn| queries::people::has_account(conn).await)
    }

    /// Makes the first account, its owner with a password, and a session of theirs; `false` if there is an account.
    pub fn begin_service(
        &self,
        account: Account,
        credits: Option<NewLedgerEntry>,
        (owner, hash): (Member, String),
        session: NewSession,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            let named = queries::people::name_first_account(conn, account.id).await?;
            if !named || queries::people::has_account(conn).await? {
                return Ok(Verdict::Rollback(false));
            }
            let actor = Actor::Member(owner.id).to_string();
            let member = owner.clone();
            queries::accounts::begin(conn, &account, credits, Some(owner), &actor).await?;
            queries::people::set_password(conn, &member.email, &hash, session.at).await?;
            queries::people::insert_session(conn, &session, &member).await?;
            Ok(Verdict::Commit(true))
        })
    }
}
