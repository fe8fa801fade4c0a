//! The request log: written in batches, read by page, deleted by age.

use crate::prelude::*;

use crate::schema::{request_log_bodies as bodies, request_log_faults as faults};

const MILLISECOND: Duration = Duration::from_millis(1);

impl Store {
    /// A page of the account's log, newest first, with one more than `limit` if there is a next page.
    pub fn log_entries(
        &self,
        account: AccountId,
        filter: LogFilter,
        after: Option<PageKey<LogEntryId>>,
        limit: i64,
    ) -> Answer<'_, Vec<LogEntry>> {
        let mut query = newest!(logs, LogEntry, account, limit)
            .when(filter.since, |since| logs::created_at.ge(V(since)))
            .when(earlier(filter.until, after), |until| {
                logs::created_at.le(V(until))
            })
            .when(after, |(at, id)| {
                logs::created_at.lt(V(at)).or(logs::id.lt(V(id)))
            });
        query = match filter.status {
            None => query,
            Some(StatusFilter::Code(status)) => {
                query.filter(unlikely(logs::status.eq(status))).when(
                    (status != 200).then_some("request_logs.status <> 200"),
                    sql::<Bool>,
                )
            }
            Some(StatusFilter::Class(class)) => {
                query.filter(unlikely(logs::status_class.eq(class))).when(
                    (class != 2).then_some("request_logs.status_class <> 2"),
                    sql::<Bool>,
                )
            }
        };
        let partial = filter
            .method
            .as_deref()
            .is_some_and(|method| method != "GET");
        query = query
            .when(
                partial.then_some("request_logs.method <> 'GET'"),
                sql::<Bool>,
            )
            .when_is(logs::method, filter.method)
            .when_is(logs::path, filter.path)
            .when_is(logs::key_id, filter.key)
            // An id holds the millisecond of its request.
            .when(filter.request.map(|id| minted_at(id.uuid())), |at| {
                logs::created_at.between(V(at), V(at.plus(MILLISECOND)))
            })
            .when_is(logs::request_id, filter.request);
        query.read_all(self)
    }

    /// How many of the account's newest `most` requests since `since` each hour has, by class of status.
    pub fn log_counts(
        &self,
        account: AccountId,
        since: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<LogCount>> {
        read!(self, |conn| {
            let hour = match conn.db() {
                Db::Sqlite => "created_at / 3600000000",
                Db::Postgres => "CAST(floor(extract(epoch FROM created_at) / 3600) AS bigint)",
            };
            let newest = "SELECT created_at, status_class FROM request_logs \
                          WHERE account_id = $1 AND created_at >= $2 ORDER BY created_at DESC, id DESC LIMIT $3";
            let counts = diesel::sql_query(format!(
                "SELECT {hour} AS hour, status_class, CAST(count(*) AS bigint) AS requests \
                 FROM ({newest}) AS newest GROUP BY 1, 2 ORDER BY 1, 2"
            ))
            .bind::<sql::Uuid, _>(V(account))
            .bind::<sql::Instant, _>(V(since))
            .bind::<BigInt, _>(most);
            Ok(counts.load(conn).await?)
        })
    }

    /// The request that placed the account's call, if it is in the log.
    pub fn placing_request(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Answer<'_, Option<LogEntry>> {
        read!(self, |conn| {
            let id = ResourceId::from_uuid(conversation.uuid());
            let first: Option<LogEntry> = logs::table
                .filter(logs::account_id.eq(V(account)))
                .filter(logs::resource_id.eq(Some(id)))
                // Written out for the partial index of requests that create or change something.
                .filter(sql::<Bool>("request_logs.method = 'POST'"))
                .filter(unlikely(
                    logs::resource.eq(Some(ResourceKind::Conversation)),
                ))
                .order((logs::created_at, logs::id))
                .select(LogEntry::as_select())
                .found(conn)
                .await?;
            // Not in the statement, because SQLite would prefer the index of paths. The first request concerns an
            // existing call only if the request that created it was not logged.
            Ok(first.filter(|entry| entry.path == "/v1/calls"))
        })
    }

    /// Writes log entries. Existing ones stay unchanged.
    pub fn add_log_entries(&self, entries: Vec<LogEntry>) -> Answer<'_, ()> {
        keep!(self, |conn| bulk! {
            conn, "request_logs" "ON CONFLICT DO NOTHING", logs of entry in &entries; id, account_id,
            request_id, key_id, key_prefix, method, path, status, status_class = entry.status / 100,
            error, ip, duration_ms, created_at, resource, resource_id
        })
    }

    /// Writes what refused requests were told, and the bodies of those whose accounts keep them.
    pub fn add_log_faults(&self, told: Vec<LogFault>) -> Answer<'_, ()> {
        keep!(self, |conn| {
            bulk! {
                conn, "request_log_faults" "ON CONFLICT DO NOTHING", faults of fault in &told; account_id,
                created_at, id, message
            }?;
            let sent = told.iter().filter(|fault| fault.body.is_some());
            let senders: HashSet<AccountId> = sent.map(|fault| fault.account_id).collect();
            ensure!(!senders.is_empty(), ());
            let keepers: Vec<AccountId> = account_settings::table
                .filter(account_settings::account_id.eq_any(senders.into_iter().map(V)))
                .filter(account_settings::keeps_error_bodies)
                .select(account_settings::account_id)
                .load(conn)
                .await?;
            let kept = told
                .into_iter()
                .filter(|fault| keepers.contains(&fault.account_id));
            let kept: Vec<(LogFault, String)> = kept
                .filter_map(|mut fault| {
                    let body = fault.body.take()?;
                    Some((fault, body))
                })
                .collect();
            bulk! {
                conn, "request_log_bodies" "ON CONFLICT DO NOTHING", bodies of kept in &kept;
                account_id = V(kept.0.account_id), created_at = V(kept.0.created_at), id = V(kept.0.id),
                body = V(&kept.1)
            }
        })
    }

    /// What the request of an entry was told, and the shape of its body.
    pub fn log_fault(
        &self,
        account: AccountId,
        (at, id): PageKey<LogEntryId>,
    ) -> Answer<'_, Option<LogFault>> {
        read!(self, |conn| {
            let key = (V(account), V(at), V(id));
            let message = faults::table.find(key).select(faults::message);
            let message: Option<String> = message.found(conn).await?;
            let message = some_or!(message, None);
            let body = bodies::table.find(key).select(bodies::body);
            Ok(Some(LogFault {
                account_id: account,
                created_at: at,
                id,
                message,
                body: body.found(conn).await?,
            }))
        })
    }

    /// Deletes the bodies of the account's requests from before `before`.
    pub fn purge_log_bodies(&self, account: AccountId, before: Timestamp) -> Answer<'_, ()> {
        diesel::delete(bodies::table)
            .filter(bodies::account_id.eq(V(account)))
            .filter(bodies::created_at.lt(V(before)))
            .commit(self)
    }

    /// Deletes up to `most` of the account's oldest log entries from before `before`. Returns how many. There is no
    /// index by age alone: PostgreSQL would use it for the pages of a large account.
    pub fn purge_log_entries(
        &self,
        account: AccountId,
        before: Timestamp,
        most: i64,
    ) -> Answer<'_, usize> {
        transact!(self, |conn| {
            let old: Vec<(Timestamp, LogEntryId)> = logs::table
                .filter(logs::account_id.eq(V(account)))
                .filter(logs::created_at.lt(V(before)))
                .order((logs::created_at, logs::id))
                .limit(most)
                .select((logs::created_at, logs::id))
                .load(conn)
                .await?;
            let count = old.len();
            for (at, id) in old {
                delete(conn, logs::table.find((V(account), V(at), V(id)))).await?;
                delete(conn, faults::table.find((V(account), V(at), V(id)))).await?;
            }
            Ok(Verdict::keep_if(count > 0, count))
        })
    }
}
