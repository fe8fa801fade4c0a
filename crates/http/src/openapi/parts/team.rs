//! The team.

use super::*;
use crate::wire::team::{MemberBody, SeatsBody};

pub(super) fn operations() -> Vec<Operation> {
    operations! {
        GET "/v1/team/members", listTeamMembers, Access::Scope(Scope::TeamRead)
            => Answer::One("TeamMembers"), "List the active members, oldest first, and the seats"
            .filters(paging().to_vec());
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let members = [
        ("data", array(reference("TeamMember"))),
        ("has_more", boolean()),
        ("next_cursor", nullable(string())),
        ("seats", SeatsBody::shape()),
    ];
    schemas! {
        TeamMember => MemberBody::shape();
        TeamMembers => object(&members);
    }
}
