//! The names of those who made changes.

use std::collections::HashMap;

use offhook_services::store::Actor;

use crate::prelude::*;
use crate::visit::first;

/// Members that are read at once: more than most teams have.
const TEAM: u32 = 100;

/// Names by actors as they are stored.
pub(crate) struct Authors(HashMap<String, String>);

impl Authors {
    pub(crate) async fn read(visitor: &Visitor) -> Result<Self> {
        let (services, account, t) = (visitor.services(), visitor.account(), visitor.lang());
        let seats = visitor.caller().terms.seats_max;
        let team = services.team().list(account, seats, first(TEAM)).await?.0;
        let keys = services.keys().list(account).await?;
        let members = team.items.into_iter();
        let members = members.map(|member| (Actor::Member(member.id).to_string(), member.name));
        let keys = keys.into_iter().map(|key| {
            let name = text!(t, "API key {}", "Clave de API {}", key.name);
            (Actor::Key(key.id).to_string(), name)
        });
        Ok(Self(members.chain(keys).collect()))
    }

    /// The actor's name; nothing if it is not known who it was.
    pub(crate) fn name(&self, actor: Option<&str>, t: Lang) -> &str {
        let Some(actor) = actor else {
            return "–";
        };
        let found = self.0.get(actor).map(String::as_str);
        found.unwrap_or_else(|| t.t("former member", "exmiembro"))
    }
}
