//! The turns that a page shows, with links to earlier and later ones.

use offhook_services::store::Moment;

use crate::prelude::*;

/// Turns that a page shows at most.
const SHOWN_TURNS: u32 = 1_000;

/// Where a stretch begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first turns behind this moment.
    After(i32),
    /// The last turns before this moment.
    Before(i32),
}

impl Place {
    /// Behind every moment.
    const END: i32 = i32::MAX;
    /// The first turns.
    pub(super) const FIRST: Self = Self::After(0);
    /// The newest turns.
    pub(crate) const NEWEST: Self = Self::Before(Self::END);

    /// The place that a page's query asks for.
    pub(super) fn asked(query: &Fields) -> Option<Self> {
        let number = |name| query.text(name).parse().ok();
        let after = number("after").map(Self::After);
        after.or_else(|| number("before").map(Self::Before))
    }
}

/// Turns that follow one another.
#[derive(Debug)]
pub(crate) struct Stretch {
    id: ConversationId,
    pub(crate) turns: Vec<Moment>,
    place: Place,
    /// Whether there are turns before these.
    has_earlier: bool,
    /// Whether there are turns behind these.
    pub(super) has_later: bool,
}

impl Stretch {
    /// Reads the turns of a conversation of the account at `place`. Pages link to each other by a turn's number: each costs
    /// as much as the first one, and no turn is on two of them or on none.
    pub(crate) async fn read(visitor: &Visitor, id: ConversationId, place: Place) -> Result<Self> {
        let conversations = visitor.services().conversations();
        let caller = visitor.caller();
        let page = match place {
            Place::After(after) => conversations.turns(caller, id, after, SHOWN_TURNS).await?,
            Place::Before(before) => {
                let page = conversations.turns_before(caller, id, before, SHOWN_TURNS);
                page.await?
            }
        };
        let page = page.ok_or_else(Trouble::not_found)?;
        let (has_earlier, has_later) = match place {
            Place::After(after) => (after > 0, page.has_more),
            Place::Before(_) => (page.has_more, place != Place::NEWEST),
        };
        Ok(Self {
            id,
            turns: page.items,
            place,
            has_earlier,
            has_later,
        })
    }

    /// The number of the last shown turn, after which the next ones are requested.
    pub(crate) fn last(&self) -> i32 {
        let last = self.turns.last().map(|turn| turn.seq);
        last.unwrap_or(match self.place {
            Place::After(after) => after,
            Place::Before(Place::END) => 0,
            Place::Before(before) => before.saturating_sub(1),
        })
    }

    /// Whether the conversation has no turn at all.
    pub(super) const fn is_silent(&self) -> bool {
        self.turns.is_empty() && !self.has_earlier && !self.has_later
    }

    /// A link to earlier turns. It leads to the conversation's own page from wherever it is shown.
    pub(crate) fn earlier(&self, lang: Lang) -> Markup {
        let path = path(self.id);
        let first = self.turns.first().map(|turn| turn.seq);
        let first = first.unwrap_or_else(|| self.last().saturating_add(1));
        html! {
            @if self.has_earlier {
                nav.pager aria-label=(lang.t("Earlier turns", "Turnos anteriores")) {
                    a href={ (path) "?after=0#transcript" } { (lang.t("First turns", "Primeros turnos")) }
                    a rel="prev" href={ (path) "?before=" (first) "#transcript" } { (lang.t("Earlier turns", "Turnos anteriores")) }
                }
            }
        }
    }

    /// A link to later turns.
    pub(super) fn later(&self, lang: Lang) -> Markup {
        let path = path(self.id);
        html! {
            @if self.has_later {
                nav.pager aria-label=(lang.t("Later turns", "Turnos siguientes")) {
                    a rel="next" href={ (path) "?after=" (self.last()) "#transcript" } { (lang.t("Later turns", "Turnos siguientes")) }
                    a href={ (path) "?before=" (Place::END) "#transcript" } { (lang.t("Last turns", "Últimos turnos")) }
                }
            }
        }
    }
}

fn path(id: ConversationId) -> String {
    format!("{PATH}/conversations/{id}")
}
