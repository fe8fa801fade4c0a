//! `/v1/team`.

use crate::prelude::*;
use crate::request::ask::TeamRead;
use crate::wire::team::{MemberBody, SeatsBody, TeamBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/v1/team/members").get(members)]
}

/// `GET /v1/team/members`
async fn members(ask: Ask<TeamRead, (), Listing<()>>) -> Reply {
    let page = ask.query.page_request(MemberId::from_uuid);
    let (account, seats_max) = (ask.account(), ask.caller.terms.seats_max);
    let team = ask.services().team();
    let (members, seats) = team.list(account, seats_max, page).await?;
    let members = ask.query.envelope(
        &members,
        |member| (member.joined_at, member.id.uuid()),
        MemberBody,
    );
    let seats = SeatsBody(&seats);
    reply::ok(&TeamBody { members, seats })
}
