//! Changes that members make to their team in the portal.

use super::{People, Person};
use crate::prelude::*;
use crate::team::seats::{self, MemberStep, TeamRefusal};
use crate::team::{checked_name, new_invitation};
use crate::{Invited, Result};

#[boxed]
impl People {
    /// Invites a user to the member's account, for seven days. The page of the link is `/portal/join/{token}`.
    pub async fn invite(
        &self,
        person: &Person,
        email: EmailAddress,
        name: &str,
        role: MemberRole,
    ) -> Result<Invited, TeamRefusal> {
        if !person.member.role.may_change(role) {
            return Err(TeamRefusal::Forbidden);
        }
        let name = checked_name(name).map_err(|_| TeamRefusal::Name)?;
        let account = &person.caller.account;
        let at = self.ctx.clock.now();
        let made = new_invitation(account.id, (email, name, role), at);
        let (invited, digest) =
            made.ok_or_else(|| StoreError::Internal("the system gives no randomness".to_owned()))?;
        let seats_max = self.seats_max(account.plan);
        let store = self.ctx.store.acting(person.actor());
        seats::invite(&store, invited.invitation.clone(), digest, seats_max).await?;
        Ok(invited)
    }

    /// Withdraws an invitation to the member's account, and invalidates its link.
    pub async fn withdraw(
        &self,
        person: &Person,
        email: EmailAddress,
    ) -> Result<Invitation, TeamRefusal> {
        let pending = self.invitations(person).await?;
        let found = pending.into_iter().find(|one| one.email == email);
        let found = found.ok_or(TeamRefusal::Absent)?;
        if !person.member.role.may_change(found.role) {
            return Err(TeamRefusal::Forbidden);
        }
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let store = self.ctx.store.acting(person.actor());
        seats::withdraw(&store, account, email, at).await
    }

    /// Lists pending invitations to the member's account, oldest first.
    pub async fn invitations(&self, person: &Person) -> Result<Vec<Invitation>> {
        let (account, now) = (person.member.account_id, self.ctx.clock.now());
        self.ctx.store.invitations(account, now).await
    }

    /// Changes the role of a member of the account; their sessions end.
    pub async fn set_role(
        &self,
        person: &Person,
        member: MemberId,
        role: MemberRole,
    ) -> Result<Member, TeamRefusal> {
        self.change(person, member, MemberStep::Role(role)).await
    }

    /// Removes a member from the account, possibly the caller; their sessions end.
    pub async fn remove(&self, person: &Person, member: MemberId) -> Result<Member, TeamRefusal> {
        self.change(person, member, MemberStep::Remove).await
    }

    /// Changes the caller's name in their current account.
    pub async fn rename(&self, person: &Person, name: &str) -> Result<(), TeamRefusal> {
        let name = checked_name(name).map_err(|_| TeamRefusal::Name)?;
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let store = &self.ctx.store;
        store
            .rename_member(account, person.member.id, name, at)
            .await?;
        Ok(())
    }

    async fn change(
        &self,
        person: &Person,
        member: MemberId,
        step: MemberStep,
    ) -> Result<Member, TeamRefusal> {
        let (account, at) = (person.member.account_id, self.ctx.clock.now());
        let store = self.ctx.store.acting(person.actor());
        seats::change(&store, account, (person.member.id, member), step, at).await
    }
}
