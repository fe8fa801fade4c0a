//! Widgets: settings and usage counts.

use crate::prelude::*;
use crate::schema::widget_origins as origins;

/// A widget's counts, with its row locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = widgets)]
pub struct WidgetCounts {
    enabled: bool,
    max_sessions_per_minute: i32,
    daily_credit_cap: Option<Credits>,
    minute: i64,
    minute_sessions: i32,
    day: i32,
    day_credits: Credits,
}

impl WidgetCounts {
    /// Counts a session of this minute; `false` if the limit is reached. If the clock was set back, it keeps counting
    /// in the latest minute.
    pub const fn count_session(&mut self, minute: i64) -> bool {
        if minute > self.minute {
            self.minute = minute;
            self.minute_sessions = 0;
        }
        if self.minute_sessions >= self.max_sessions_per_minute {
            return false;
        }
        self.minute_sessions += 1;
        true
    }

    /// Counts credits that are reserved on this day. Returns the day that they count for, or `None` if the cap does not
    /// cover them.
    pub fn reserve(&mut self, day: i32, credits: Credits) -> Option<i32> {
        self.turn_to(day);
        let held = self.day_credits.saturating_add(credits);
        if credits > 0 && self.daily_credit_cap.is_some_and(|cap| held > cap) {
            return None;
        }
        self.day_credits = held;
        Some(self.day)
    }

    /// Counts credits that were spent by this day and not reserved before, whatever the cap.
    pub(crate) const fn spend(&mut self, day: i32, credits: Credits) {
        self.turn_to(day);
        self.day_credits = self.day_credits.saturating_add(credits);
    }

    /// If the clock was set back, it keeps counting in the latest day.
    const fn turn_to(&mut self, day: i32) {
        if day > self.day {
            self.day = day;
            self.day_credits = 0;
        }
    }
}

/// Reads a widget's counts and locks its row.
pub(crate) async fn lock(conn: &mut Conn, agent: AgentId) -> Result<Option<WidgetCounts>> {
    diesel::update(widgets::table.find(V(agent)))
        .set(widgets::enabled.eq(widgets::enabled))
        .returning(WidgetCounts::as_returning())
        .returned(conn)
        .await
}

/// Writes the counts of a locked row.
pub(crate) async fn count(conn: &mut Conn, agent: AgentId, counts: WidgetCounts) -> Result<()> {
    diesel::update(widgets::table.find(V(agent)))
        .set(row! { widgets of counts: minute, minute_sessions, day, day_credits })
        .run(conn)
        .await
}

/// Releases credits that were reserved on `day` and not spent.
pub(crate) async fn release(
    conn: &mut Conn,
    agent: AgentId,
    day: i32,
    credits: Credits,
) -> Result<()> {
    diesel::update(widgets::table.find(V(agent)))
        .filter(widgets::day.eq(day))
        .set(widgets::day_credits.eq(widgets::day_credits - credits))
        .run(conn)
        .await
}

/// Whether the widget lists the origin.
pub(crate) async fn names(conn: &mut Conn, agent: AgentId, origin: &str) -> Result<bool> {
    origins::table
        .find((V(agent), origin))
        .select(origins::agent_id)
        .exists(conn)
        .await
}

/// Whether the widget is on and lists the origin.
pub(crate) async fn serves(conn: &mut Conn, agent: AgentId, origin: &str) -> Result<bool> {
    let on: Option<AgentId> = widgets::table
        .find(V(agent))
        .filter(widgets::enabled)
        .select(widgets::agent_id)
        .found(conn)
        .await?;
    Ok(on.is_some() && names(conn, agent, origin).await?)
}

/// The settings of an agent's widget. The caller has looked the agent up for its account.
pub(crate) async fn settings(conn: &mut Conn, agent: AgentId) -> Result<Option<WidgetSettings>> {
    let row: Option<(bool, i32, Option<Credits>)> = widgets::table
        .find(V(agent))
        .select((
            widgets::enabled,
            widgets::max_sessions_per_minute,
            widgets::daily_credit_cap,
        ))
        .found(conn)
        .await?;
    let (enabled, max_sessions_per_minute, daily_credit_cap) = some_or!(row, None);
    let origins = origins::table
        .filter(origins::agent_id.eq(V(agent)))
        .order(origins::position)
        .select(origins::origin)
        .load(conn)
        .await?;
    Ok(Some(WidgetSettings {
        enabled,
        origins,
        max_sessions_per_minute,
        daily_credit_cap,
    }))
}

#[boxed]
impl Tx<'_> {
    /// Reads a widget's counts and locks its row; `None` if the agent has no widget.
    pub async fn lock_widget(&mut self, agent: AgentId) -> Result<Option<WidgetCounts>> {
        lock(self.0, agent).await
    }

    /// The same; `None` too if the widget is off or does not list the origin.
    pub async fn lock_widget_of(
        &mut self,
        agent: AgentId,
        origin: &str,
    ) -> Result<Option<WidgetCounts>> {
        let counts = lock(self.0, agent).await?.filter(|counts| counts.enabled);
        match counts.is_some() && names(self.0, agent, origin).await? {
            true => Ok(counts),
            false => Ok(None),
        }
    }

    /// Writes the counts of a locked widget.
    pub async fn set_widget_counts(&mut self, agent: AgentId, counts: WidgetCounts) -> Result<()> {
        count(self.0, agent, counts).await
    }
}

impl Store {
    /// Sets the widget of an agent of the account.
    pub fn set_widget(
        &self,
        account: AccountId,
        agent: AgentId,
        settings: WidgetSettings,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let set = row! {
                widgets of settings: enabled, max_sessions_per_minute, daily_credit_cap
            };
            // The widget's row first, so that of two concurrent changes the second waits, and both lists are complete.
            diesel::insert_into(widgets::table)
                .values((
                    row! { widgets: agent_id = agent, account_id = account },
                    set,
                    row! { widgets: minute = 0, minute_sessions = 0, day = 0, day_credits = 0 },
                ))
                .on_conflict(widgets::agent_id)
                .do_update()
                .set(set)
                .execute(conn)
                .await?;
            delete(conn, origins::table.filter(origins::agent_id.eq(V(agent)))).await?;
            for (position, origin) in (0..).zip(settings.origins) {
                insert! { conn, origins: agent_id = agent, origin, position }?;
            }
            Ok(())
        })
    }

    /// An agent by its id alone, with all that decides whether its widget serves. Check the widget before showing
    /// anything of it: pages have no key.
    pub fn widget_agent(&self, agent: AgentId) -> Answer<'_, Option<WidgetAgent>> {
        read!(self, |conn| {
            let id = agent;
            let found: Option<Agent> = agents::table
                .find(V(id))
                .select(Agent::as_select())
                .found(conn)
                .await?;
            let Some(agent) = found else { return Ok(None) };
            let account: Account = accounts::table
                .find(V(agent.account_id))
                .select(Account::as_select())
                .first(conn)
                .await?;
            let config: Option<String> = agent_versions::table
                .find((V(id), agent.published_version))
                .select(agent_versions::config)
                .found(conn)
                .await?;
            Ok(Some(WidgetAgent {
                settings: settings(conn, id).await?,
                agent,
                account,
                config,
            }))
        })
    }

    /// Whether an enabled widget of any account lists the origin.
    pub fn is_widget_origin(&self, origin: String) -> Answer<'_, bool> {
        origins::table
            .inner_join(widgets::table.on(widgets::agent_id.eq(origins::agent_id)))
            .filter(origins::origin.eq(origin))
            .filter(widgets::enabled)
            .select(origins::agent_id)
            .read_exists(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(per_minute: i32, cap: Option<Credits>) -> WidgetCounts {
        WidgetCounts {
            enabled: true,
            max_sessions_per_minute: per_minute,
            daily_credit_cap: cap,
            minute: 0,
            minute_sessions: 0,
            day: 0,
            day_credits: 0,
        }
    }

    #[test]
    fn a_minute_has_so_many_sessions_and_a_clock_that_goes_back_brings_none_back() {
        let mut counts = counts(2, None);
        let minutes = [7, 7, 7, 6, 8, 7, 8];
        let taken = minutes.map(|minute| counts.count_session(minute));
        assert_eq!(taken, [true, true, false, false, true, true, false]);
    }

    #[test]
    fn a_day_has_so_many_credits_and_free_answers_always() {
        let mut counts = counts(1, Some(3));
        let asked = [(5, 2), (5, 2), (5, 1), (5, 1), (5, 0), (6, 3), (5, 1)];
        let held = asked.map(|(day, credits)| counts.reserve(day, credits));
        assert_eq!(held, [Some(5), None, Some(5), None, Some(5), Some(6), None]);
    }
}
