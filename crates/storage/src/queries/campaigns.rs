//! Campaigns and their recipients.

use super::batches::NEVER;
use crate::prelude::*;
use crate::schema::campaign_recipients as people;

/// The latest calls of an agent from which the next ones are estimated.
const LATEST: i64 = 200;

async fn find(conn: &mut Conn, account: AccountId, id: CampaignId) -> Result<Option<Campaign>> {
    Ok(own!(campaigns, account, id)
        .select(Campaign::as_select())
        .found(conn)
        .await?)
}

#[boxed]
impl Tx<'_> {
    /// Locks the campaign's row until the transaction ends. Lock order: account, campaign, wallet.
    pub async fn lock_campaign(
        &mut self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<Option<Campaign>> {
        // An UPDATE that changes nothing locks the row on both databases.
        diesel::update(campaigns::table.find(V(id)))
            .filter(campaigns::account_id.eq(V(account)))
            .set(campaigns::total.eq(campaigns::total))
            .returning(Campaign::as_returning())
            .returned(self.0)
            .await
    }

    /// Writes the state of a locked campaign, and when its next round is, if any.
    pub async fn save_campaign(
        &mut self,
        campaign: &Campaign,
        round_at: Option<Timestamp>,
    ) -> Result<()> {
        diesel::update(campaigns::table.find(V(campaign.id)))
            .set(row! {
                campaigns of campaign: key_id, status, paused_reason, total, pending, dialing, reached, unreached,
                blocked, outcomes, seconds, credits, judged_calls, judged_failures, paced_at, started_at, ended_at,
                look_at = round_at.unwrap_or(NEVER)
            })
            .run(self.0)
            .await
    }

    /// Adds recipients to a locked campaign, in this order, to be called from `at` on. Leaves out the numbers that it has
    /// already. Returns how many it added; counting them is the caller's.
    pub async fn add_recipients(
        &mut self,
        campaign: &Campaign,
        new: Vec<NewCampaignRecipient>,
        at: Timestamp,
    ) -> Result<i32> {
        let of = || people::table.filter(people::campaign_id.eq(V(campaign.id)));
        let last: Option<i32> = of()
            .order(people::place.desc())
            .select(people::place)
            .found(self.0)
            .await?;
        let first = last.map_or(0, |last| last + 1);
        // A number that is there already leaves its place empty. To look for it before would be a scan of the campaign
        // wherever the database has no statistics yet.
        let rows: Vec<(i32, NewCampaignRecipient)> = (first..).zip(new).collect();
        for some in rows.chunks(1_000) {
            let conn = &mut *self.0;
            bulk! {
                conn, "campaign_recipients" "ON CONFLICT (campaign_id, number) DO NOTHING",
                people of one in some; id = one.1.id, campaign_id = campaign.id,
                account_id = campaign.account_id, place = one.0, number = &one.1.number, name = &one.1.name,
                variables = &one.1.variables, time_zone = &one.1.time_zone, consent = &one.1.consent,
                status = CampaignRecipientStatus::Pending, attempts = 0, has_message = false, next_at = at, updated_at = at
            }?;
        }
        let added = of().filter(people::place.ge(first)).counted(self.0).await?;
        Ok(i32::try_from(added).unwrap_or(i32::MAX))
    }
}

impl Store {
    /// Stores a campaign without recipients.
    pub fn insert_campaign(&self, campaign: Campaign) -> Answer<'_, ()> {
        keep!(self, |conn| {
            insert! {
                conn, campaigns of campaign: id, account_id, name, agent_id, phone_number_id, key_id, status,
                paused_reason, settings, total, pending, dialing, reached, unreached, blocked, outcomes, seconds, credits,
                judged_calls, judged_failures, paced_at, created_at, started_at, ended_at, look_at = NEVER
            }
        })
    }

    pub fn campaign(&self, account: AccountId, id: CampaignId) -> Answer<'_, Option<Campaign>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// A page of the account's campaigns, newest first, with one more than `limit` if there is a next page.
    pub fn campaigns(
        &self,
        account: AccountId,
        filter: CampaignFilter,
        after: Option<PageKey<CampaignId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Campaign>> {
        page!(campaigns as Campaign, account, after, limit)
            .when(filter.status, |status| campaigns::status.eq(V(status)))
            .when(filter.agent, |agent| campaigns::agent_id.eq(V(agent)))
            .read_all(self)
    }

    /// A page of a campaign's recipients after place `after`, in order, with one more than `limit` if there is a next
    /// page. `None` if the account has no such campaign.
    pub fn campaign_recipients(
        &self,
        (account, id): (AccountId, CampaignId),
        filter: CampaignRecipientFilter,
        after: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Option<Vec<CampaignRecipient>>> {
        read!(self, |conn| {
            ensure!(find(conn, account, id).await?.is_some(), None);
            let query = people::table
                .filter(people::campaign_id.eq(V(id)))
                .order(people::place)
                .limit(limit + 1)
                .select(CampaignRecipient::as_select())
                .into_boxed::<Db>()
                .when(filter.status, |status| people::status.eq(V(status)))
                .when(filter.outcome, |outcome| people::outcome.eq(V(outcome)))
                .when(after, |after| people::place.gt(after));
            Ok(Some(query.load(conn).await?))
        })
    }

    /// What came of an agent's latest phone calls.
    pub fn agent_calls(&self, account: AccountId, agent: AgentId) -> Answer<'_, AgentCalls> {
        read!(self, |conn| {
            type Ended = (Option<Timestamp>, Option<i64>);
            let ended = [CallState::Completed, CallState::Failed].map(V);
            let latest: Vec<Ended> = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::agent_id.eq(V(agent)))
                .filter(calls::voice)
                .filter(calls::state.eq_any(ended))
                .order((calls::started_at.desc(), calls::id.desc()))
                .limit(LATEST)
                .select((calls::answered_at, calls::duration_seconds))
                .load(conn)
                .await?;
            let mut all = AgentCalls::default();
            for (answered_at, seconds) in latest {
                all.calls += 1;
                all.answered += i64::from(answered_at.is_some());
                all.seconds += seconds.unwrap_or_default();
            }
            Ok(all)
        })
    }
}

/// Pauses every campaign that would place calls until its customer resumes it.
pub(crate) async fn pause_all(conn: &mut Conn) -> Result<usize> {
    use CampaignStatus::{Paused, Running};
    Ok(diesel::update(campaigns::table)
        .filter(campaigns::status.eq_any([Running, Paused].map(V)))
        .set(row! { campaigns: status = Paused, paused_reason = CampaignPause::Customer })
        .execute(conn)
        .await?)
}
