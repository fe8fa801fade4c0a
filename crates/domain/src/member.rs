//! Members of an account's team.

use crate::agent::vocabulary;

vocabulary! {
    /// The role of a member.
    MemberRole {
        /// Owns the account.
        Owner => "owner",
        /// Everything except transferring the account.
        Admin => "admin",
        /// Builds agents.
        Developer => "developer",
        /// Read-only access.
        Viewer => "viewer",
    }
}

impl MemberRole {
    /// Returns whether this role includes the permissions of `at_least`. Each role includes those below it: owner,
    /// admin, developer, viewer.
    #[must_use]
    pub const fn may(self, at_least: Self) -> bool {
        self.rank() >= at_least.rank()
    }

    /// Returns whether a member of this role may change the role of the other one, or remove that member: an owner may
    /// change all members, an admin all but owners.
    #[must_use]
    pub const fn may_change(self, other: Self) -> bool {
        self.may(Self::Admin) && self.may(other)
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Owner => 3,
            Self::Admin => 2,
            Self::Developer => 1,
            Self::Viewer => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MemberRole::{self, Admin, Developer, Owner, Viewer};

    #[test]
    fn each_role_may_what_those_below_it_may() {
        let of = |role: MemberRole| [Owner, Admin, Developer, Viewer].map(|least| role.may(least));
        assert_eq!(of(Owner), [true; 4]);
        assert_eq!(of(Admin), [false, true, true, true]);
        assert_eq!(of(Developer), [false, false, true, true]);
        assert_eq!(of(Viewer), [false, false, false, true]);
    }

    #[test]
    fn the_team_is_changed_by_owners_and_by_admins_but_for_owners() {
        let of = |role: MemberRole| {
            [Owner, Admin, Developer, Viewer].map(|other| role.may_change(other))
        };
        assert_eq!(of(Owner), [true; 4]);
        assert_eq!(of(Admin), [false, true, true, true]);
        assert_eq!((of(Developer), of(Viewer)), ([false; 4], [false; 4]));
    }
}
