//! Choosing an agent, and agents' names in lists.

use maud::Render as _;
use offhook_services::store::{Agent, AgentFilter};

use super::form::{Input, Select};
use crate::prelude::*;
use crate::visit::first;

/// The most agents that a choice offers; beyond that the id is typed.
const MOST: u32 = 300;

/// The account's agents, the newest first.
pub(crate) struct AgentChoice {
    agents: Vec<Agent>,
    is_whole: bool,
}

impl AgentChoice {
    /// Those that pass the filter.
    pub(crate) async fn of(visitor: &Visitor, filter: AgentFilter) -> Result<Self> {
        let agents = visitor.services().agents();
        let page = agents.list(visitor.account(), filter, first(MOST)).await?;
        Ok(Self {
            agents: page.items,
            is_whole: !page.has_more,
        })
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// The agent that the field shows: the chosen one, or the first of the list.
    pub(crate) fn shown(&self, chosen: &str) -> Option<AgentId> {
        match chosen {
            "" => self.agents.first().map(|agent| agent.id),
            chosen => chosen.parse().ok(),
        }
    }

    /// A link to an agent, by its name where it is known.
    pub(crate) fn link(&self, id: AgentId) -> Markup {
        html! { a href={ (crate::PATH) "/agents/" (id) } { (self.name(&id.to_string())) } }
    }

    /// The name of the agent with this id, or the id itself where it is not known.
    pub(crate) fn name(&self, id: &str) -> String {
        let found = self.agents.iter().find(|agent| agent.id.to_string() == id);
        found.map_or_else(|| id.to_owned(), |agent| agent.name.clone())
    }

    /// The agents' ids and names; `None` where they are too many for a list.
    pub(crate) fn options(&self) -> Option<Vec<(String, String)>> {
        let agents = self.agents.iter();
        let named = agents.map(|agent| (agent.id.to_string(), agent.name.clone()));
        self.is_whole.then(|| named.collect())
    }

    /// The hint where the id is typed.
    pub(crate) const fn typed(t: Lang) -> &'static str {
        t.t(
            "Too many agents for a list: type the agent's ID from its page.",
            "Hay demasiados agentes para una lista: escribe el ID del agente que muestra su página.",
        )
    }

    /// The field. `none` is the option for no agent, if there is one.
    pub(crate) fn field(
        &self,
        visitor: &Visitor,
        name: &str,
        label: &str,
        chosen: &str,
        none: Option<&str>,
    ) -> Markup {
        let Some(agents) = self.options() else {
            let hint = Self::typed(visitor.lang());
            return Input::text(name, label).value(chosen).hint(hint).render();
        };
        let none = none.map(|none| (String::new(), none.to_owned()));
        Select::new(name, label)
            .options(none)
            .options(agents)
            .chosen(chosen)
            .render()
    }
}
