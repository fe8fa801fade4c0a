//! A team, as its members change it in the portal.

use offhook_boxed::boxed;
use offhook_domain::{EmailAddress, MemberId, MemberRole, Timestamp};
use offhook_storage::{Invitation, Member, MemberChange, MemberStep, SeatTaken, StoreError};

use super::{People, Person};
use crate::team::{checked_name, new_invitation};
use crate::{Invited, Result};

/// Why a team was not changed.
#[derive(Debug, thiserror::Error)]
pub enum TeamRefusal {
    /// The role of whoever asks does not allow it.
    #[error("your role does not allow this")]
    Forbidden,
    /// There is no such member or invitation.
    #[error("there is no such member or invitation")]
    Absent,
    /// An account without an owner would be left.
    #[error("an account needs an owner")]
    LastOwner,
    /// The name is empty, longer than 120 characters, or has control characters.
    #[error("the name must have 1 to 120 characters, none of them a control character")]
    Name,
    /// A member has this address already.
    #[error("a member has this address already")]
    Member,
    /// The address is invited already, until then.
    #[error("invited already, until {0}")]
    Invited(Timestamp),
    /// No seat is free.
    #[error("no seat is free: {used} of {max} are taken")]
    NoSeat {
        /// Seats that are taken.
        used: i64,
        /// Seats of the plan.
        max: u32,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[boxed]
impl People {
    /// Invites somebody to the person's account, for seven days. The page of the link is `/portal/join/{token}`.
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
        let at = self.shared.clock.now();
        let made = new_invitation(account.id, (email, name, role), at);
        let (invited, digest) =
            made.ok_or_else(|| StoreError::Internal("the system gives no randomness".to_owned()))?;
        let seats_max = self.seats_max(account.plan);
        let store = self.shared.store.acting(person.actor());
        let taken = store.invite(invited.invitation.clone(), digest, seats_max);
        match taken.await? {
            SeatTaken::Done => Ok(invited),
            SeatTaken::NoAccount => Err(TeamRefusal::Absent),
            SeatTaken::Member => Err(TeamRefusal::Member),
            SeatTaken::Invited(until) => Err(TeamRefusal::Invited(until)),
            SeatTaken::Full(used) => Err(TeamRefusal::NoSeat {
                used,
                max: seats_max.unwrap_or(u32::MAX),
            }),
        }
    }

    /// Withdraws an invitation to the person's account; its link opens nothing from then on.
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
        let (account, at) = (person.member.account_id, self.shared.clock.now());
        let store = self.shared.store.acting(person.actor());
        let withdrawn = store.withdraw_invitation(account, email, at).await?;
        withdrawn.ok_or(TeamRefusal::Absent)
    }

    /// Pending invitations to the person's account, the oldest first.
    pub async fn invitations(&self, person: &Person) -> Result<Vec<Invitation>> {
        let (account, now) = (person.member.account_id, self.shared.clock.now());
        self.shared.store.invitations(account, now).await
    }

    /// Gives a member of the person's account another role; their sessions end.
    pub async fn set_role(
        &self,
        person: &Person,
        member: MemberId,
        role: MemberRole,
    ) -> Result<Member, TeamRefusal> {
        self.change(person, member, MemberStep::Role(role)).await
    }

    /// Takes a member out of the person's account, who may be the person; their sessions end.
    pub async fn remove(&self, person: &Person, member: MemberId) -> Result<Member, TeamRefusal> {
        self.change(person, member, MemberStep::Remove).await
    }

    /// Gives the person another name in the account that they are in.
    ///
    /// # Errors
    /// [`TeamRefusal::Name`], [`TeamRefusal::Store`].
    pub async fn rename(&self, person: &Person, name: &str) -> Result<(), TeamRefusal> {
        let name = checked_name(name).map_err(|_| TeamRefusal::Name)?;
        let (account, at) = (person.member.account_id, self.shared.clock.now());
        let store = &self.shared.store;
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
        let (account, at) = (person.member.account_id, self.shared.clock.now());
        let store = &self.shared.store;
        let changed = store.change_member(account, (person.member.id, member), step, at);
        match changed.await? {
            MemberChange::Done(member) => Ok(member),
            MemberChange::Absent => Err(TeamRefusal::Absent),
            MemberChange::Forbidden => Err(TeamRefusal::Forbidden),
            MemberChange::LastOwner => Err(TeamRefusal::LastOwner),
        }
    }
}
