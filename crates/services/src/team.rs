//! The members of an account, and its seats.

pub(crate) mod seats;

pub use seats::TeamRefusal;

use ring::rand::{SecureRandom, SystemRandom};

use crate::digest::sha256;
use crate::error::InputError;
use crate::prelude::*;

/// How long an invitation's link is valid.
const INVITATION_LASTS: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Random bytes of a link's token.
const TOKEN_BYTES: usize = 32;

type Result<T, E = InputError> = std::result::Result<T, E>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// Active members and pending invitations.
    pub used: i64,
    /// The plan's seats; `None` is unlimited.
    pub max: Option<u32>,
}

/// A new invitation.
#[derive(Debug, Clone)]
pub struct Invited {
    pub invitation: Invitation,
    /// The token of its link, which is stored nowhere.
    pub token: String,
}

#[derive(Clone)]
pub struct Team(pub(crate) Arc<Context>);

#[boxed]
impl Team {
    /// Lists the account's active members, oldest first, and its seats, of which its plan has `seats_max`.
    pub async fn list(
        &self,
        account: AccountId,
        seats_max: Option<u32>,
        page: PageRequest<MemberId>,
    ) -> Result<(Page<Member>, Seats), StoreError> {
        let (limit, now) = (i64::from(page.limit), self.0.clock.now());
        let team = self.0.store.team(account, page.after, limit, now);
        let (members, used) = team.await?;
        let max = seats_max;
        Ok((Page::of(members, page.limit), Seats { used, max }))
    }

    /// A member of the account.
    pub async fn member(
        &self,
        account: AccountId,
        id: MemberId,
    ) -> Result<Option<Member>, StoreError> {
        self.0.store.member(account, id).await
    }

    /// Adds a member to the team; this ends a pending invitation of the same address.
    pub async fn add(
        &self,
        account: AccountId,
        email: EmailAddress,
        name: &str,
        role: MemberRole,
    ) -> Result<Member> {
        let (account, name) = (self.account(account).await?, checked_name(name)?);
        let at = self.0.clock.now();
        let member = Member {
            id: mint(at),
            account_id: account.id,
            name,
            email,
            role,
            joined_at: at,
        };
        let seats_max = self.0.plans.terms(account.plan).seats_max;
        let added = seats::add(&self.0.store, member.clone(), seats_max).await;
        added.map_err(|why| refused(&account, &member.email, why))?;
        Ok(member)
    }

    /// Invites a user to the team, for seven days.
    pub async fn invite(
        &self,
        account: AccountId,
        email: EmailAddress,
        name: &str,
        role: MemberRole,
    ) -> Result<Invited> {
        let (account, name) = (self.account(account).await?, checked_name(name)?);
        let at = self.0.clock.now();
        let made = new_invitation(account.id, (email, name, role), at);
        let (invited, digest) =
            made.ok_or_else(|| InputError::Invalid("the system gives no randomness".to_owned()))?;
        let seats_max = self.0.plans.terms(account.plan).seats_max;
        let invitation = invited.invitation.clone();
        let done = seats::invite(&self.0.store, invitation, digest, seats_max).await;
        done.map_err(|why| refused(&account, &invited.invitation.email, why))?;
        Ok(invited)
    }

    /// Removes a member from the team and frees the seat.
    pub async fn remove(&self, account: AccountId, email: EmailAddress) -> Result<Member> {
        let (account, at) = (self.account(account).await?, self.0.clock.now());
        let removed = seats::remove(&self.0.store, account.id, email.clone(), at).await;
        removed.map_err(|why| match why {
            TeamRefusal::Absent => InputError::Invalid(format!(
                "--email {email}: no member of the account has this address; `offhook member withdraw` ends an \
                 invitation"
            )),
            why => refused(&account, &email, why),
        })
    }

    /// Withdraws a pending invitation, invalidates its link and frees the seat.
    pub async fn withdraw(&self, account: AccountId, email: EmailAddress) -> Result<Invitation> {
        let (account, at) = (self.account(account).await?, self.0.clock.now());
        let withdrawn = seats::withdraw(&self.0.store, account.id, email.clone(), at).await;
        withdrawn.map_err(|why| match why {
            TeamRefusal::Absent => InputError::Invalid(format!(
                "--email {email}: the account has no pending invitation of this address; `offhook member remove` takes \
                 out a member"
            )),
            why => refused(&account, &email, why),
        })
    }

    async fn account(&self, id: AccountId) -> Result<Account> {
        let account = self.0.store.account(id).await?;
        account.ok_or_else(|| no_account(id))
    }
}

/// A refusal in the words of the command line.
fn refused(account: &Account, email: &EmailAddress, why: TeamRefusal) -> InputError {
    let plan = account.plan;
    InputError::Invalid(match why {
        TeamRefusal::Store(error) => return InputError::Store(error),
        TeamRefusal::Absent => return no_account(account.id),
        TeamRefusal::Member => {
            format!("--email {email}: a member of the account has this address already")
        }
        TeamRefusal::Invited(until) => format!(
            "--email {email}: invited already, until {until}; `offhook member add` makes a member at once"
        ),
        TeamRefusal::NoSeat { used, max } => format!(
            "no seat is free: members and pending invitations take {used} of the {max} of the {plan} plan; move the \
             account to a larger plan, or free one with `offhook member remove` or `withdraw`"
        ),
        why => why.to_string(),
    })
}

fn no_account(id: AccountId) -> InputError {
    InputError::Invalid(format!("--account {id}: no such account"))
}

/// An invitation with its token, and the digest under which it is stored; `None` if the system has no randomness.
pub(crate) fn new_invitation(
    account: AccountId,
    (email, name, role): (EmailAddress, String, MemberRole),
    at: Timestamp,
) -> Option<(Invited, [u8; 32])> {
    let mut random = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut random).ok()?;
    let token = hex::encode(random);
    let digest = sha256(token.as_bytes());
    let invitation = Invitation {
        id: mint(at),
        account_id: account,
        name,
        email,
        role,
        created_at: at,
        expires_at: at.plus(INVITATION_LASTS),
    };
    Some((Invited { invitation, token }, digest))
}

pub(crate) fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 120 || name.contains(char::is_control) {
        return Err(InputError::Invalid(
            "--name must have 1 to 120 characters, none of them a control character".to_owned(),
        ));
    }
    Ok(name.to_owned())
}
