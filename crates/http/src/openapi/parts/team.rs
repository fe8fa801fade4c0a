//! The team.

use offhook_domain::{MemberRole, Scope};
use serde_json::Value;

use super::super::operations::{Access, Answer, Operation, operations, paging};
use super::super::reference;
use super::super::schemas::{
    array, boolean, instant, integer, nullable, object, string, uuid, words,
};

pub(super) fn operations() -> Vec<Operation> {
    operations! {
        GET "/v1/team/members", listTeamMembers, Access::Scope(Scope::TeamRead)
            => Answer::One("TeamMembers"), "List the active members, the oldest first, and the seats"
            .filters(paging((20, 100)).to_vec());
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let member = [
        ("id", uuid()),
        ("name", string()),
        ("email", string()),
        ("role", words(MemberRole::ALL)),
        ("joined_at", instant()),
    ];
    let seats = [("used", integer()), ("max", nullable(integer()))];
    let members = [
        ("data", array(reference("TeamMember"))),
        ("has_more", boolean()),
        ("next_cursor", nullable(string())),
        ("seats", object(&seats)),
    ];
    vec![
        ("TeamMember", object(&member)),
        ("TeamMembers", object(&members)),
    ]
}
