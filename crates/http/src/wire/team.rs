//! The team.

use offhook_domain::{EmailAddress, MemberId, MemberRole, Timestamp};
use offhook_services::Seats;
use offhook_services::store::Member;
use serde::Serialize;

use crate::list::Envelope;

#[derive(Serialize)]
pub(crate) struct MemberBody<'a> {
    id: MemberId,
    name: &'a str,
    email: &'a EmailAddress,
    role: MemberRole,
    joined_at: Timestamp,
}

impl<'a> From<&'a Member> for MemberBody<'a> {
    fn from(member: &'a Member) -> Self {
        Self {
            id: member.id,
            name: &member.name,
            email: &member.email,
            role: member.role,
            joined_at: member.joined_at,
        }
    }
}

/// A page of members, and the seats.
#[derive(Serialize)]
pub(crate) struct TeamBody<'a> {
    #[serde(flatten)]
    members: Envelope<MemberBody<'a>>,
    seats: SeatsBody,
}

#[derive(Serialize)]
struct SeatsBody {
    used: i64,
    max: Option<u32>,
}

impl<'a> TeamBody<'a> {
    pub(crate) const fn new(members: Envelope<MemberBody<'a>>, seats: Seats) -> Self {
        let Seats { used, max } = seats;
        Self {
            members,
            seats: SeatsBody { used, max },
        }
    }
}
