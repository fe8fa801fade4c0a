//! The team.

use offhook_services::Seats;
use offhook_services::store::Member;
use serde::Serialize;

use super::shown;
use crate::request::list::Envelope;

shown! {
    MemberBody(member: Member) {
        id,
        name,
        email,
        role,
        joined_at,
    }
}

shown! {
    SeatsBody(seats: Seats) {
        used,
        max,
    }
}

/// A page of members, and the seats.
#[derive(Serialize)]
pub(crate) struct TeamBody<'a> {
    #[serde(flatten)]
    pub(crate) members: Envelope<MemberBody<'a>>,
    pub(crate) seats: SeatsBody<'a>,
}
