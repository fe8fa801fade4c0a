//! Queries the database directly.

use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
use tokio_postgres::SimpleQueryMessage;

use crate::evidence::{
    Campaign, Conversation, Delivery, Entry, Event, Evidence, Person, Recipient, StoredKey, Wallet,
    Words, handle,
};
use crate::world::World;

/// An open database.
pub(crate) enum Look {
    Sqlite(Mutex<SqliteConnection>),
    Postgres(tokio_postgres::Client),
}

#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

/// How a column is read as text.
enum Column {
    /// An id, as 32 hexadecimal digits.
    Id(&'static str),
    /// Text or a number; null is empty.
    Text(&'static str),
    /// Bytes in hexadecimal.
    Bytes(&'static str),
}

use Column::{Bytes, Id, Text};

impl Look {
    pub(crate) async fn open(world: &World) -> anyhow::Result<Self> {
        let Some(postgres) = &world.postgres else {
            let file = world.admin.directory.join("data").join("offhook.db");
            let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
            connection.batch_execute("PRAGMA busy_timeout = 5000")?;
            return Ok(Self::Sqlite(Mutex::new(connection)));
        };
        let client = postgres.lock().await.connect("offhook").await?;
        Ok(Self::Postgres(client))
    }

    async fn lines(&self, sql: String) -> anyhow::Result<Vec<String>> {
        match self {
            Self::Sqlite(connection) => {
                let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                let rows: Vec<Line> = diesel::sql_query(sql).load(&mut *connection)?;
                Ok(rows.into_iter().map(|row| row.line).collect())
            }
            Self::Postgres(client) => {
                let rows = client.simple_query(&sql).await.with_context(|| sql)?;
                let lines = rows.into_iter().filter_map(|row| match row {
                    SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                    _ => None,
                });
                Ok(lines.collect())
            }
        }
    }

    async fn rows<const N: usize>(
        &self,
        columns: [Column; N],
        from: &str,
    ) -> anyhow::Result<Vec<[String; N]>> {
        let shared = matches!(self, Self::Postgres(_));
        let columns: Vec<String> = columns
            .iter()
            .map(|column| match (column, shared) {
                (Id(name), true) => format!("coalesce(replace({name}::text, '-', ''), '')"),
                (Id(name) | Bytes(name), false) => format!("coalesce(lower(hex({name})), '')"),
                (Text(name), true) => format!("coalesce({name}::text, '')"),
                (Text(name), false) => format!("coalesce(CAST({name} AS TEXT), '')"),
                (Bytes(name), true) => format!("coalesce(encode({name}, 'hex'), '')"),
            })
            .collect();
        let list = columns.join(" || '|' || ");
        let lines = self
            .lines(format!("SELECT {list} AS line FROM {from}"))
            .await?;
        let row = |line: String| {
            let mut values = line.splitn(N, '|').map(str::to_owned);
            std::array::from_fn(|_| values.next().unwrap_or_default())
        };
        Ok(lines.into_iter().map(row).collect())
    }

    /// The work that is still to be done; empty once the run is over.
    pub(crate) async fn left(&self) -> anyhow::Result<Vec<String>> {
        let mut left = Vec::new();
        for (what, from) in [
            (
                "call",
                "conversations WHERE state NOT IN ('completed', 'failed')",
            ),
            (
                "delivery",
                "deliveries WHERE state IN ('pending', 'retrying')",
            ),
            (
                "batch",
                "batch_calls WHERE status NOT IN ('completed', 'cancelled', 'failed')",
            ),
            (
                "campaign",
                "campaigns WHERE status NOT IN ('completed', 'cancelled')",
            ),
        ] {
            let state = match what {
                "batch" | "campaign" => "status",
                _ => "state",
            };
            for [id, state] in self.rows([Id("id"), Text(state)], from).await? {
                left.push(format!("{what} {id} is left `{state}`"));
            }
        }
        Ok(left)
    }

    /// Adds the database's evidence.
    pub(crate) async fn read(&self, evidence: &mut Evidence) -> anyhow::Result<()> {
        let columns = [
            Id("id"),
            Id("account_id"),
            Text("state"),
            Text("to_number"),
            Text("failure_reason"),
            Text("termination_reason"),
            Text("credits"),
            Text("metadata"),
        ];
        for [
            id,
            account,
            state,
            to,
            failure,
            termination,
            credits,
            metadata,
        ] in self.rows(columns, "conversations").await?
        {
            let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap_or_default();
            evidence.conversations.push(Conversation {
                id,
                account,
                state,
                to,
                failure,
                termination,
                credits: number(&credits),
                times: (0, 0),
                key: metadata["key"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let at = match self {
            Self::Sqlite(_) => "at",
            Self::Postgres(_) => "(extract(epoch from at) * 1000000)::bigint",
        };
        let states = "conversation_moments WHERE state IN ('dialing', 'completed', 'failed')";
        let columns = [Id("conversation_id"), Text("state"), Text(at)];
        let mut times = std::collections::HashMap::<String, (i64, i64)>::new();
        for [conversation, state, at] in self.rows(columns, states).await? {
            let of_call = times.entry(conversation).or_default();
            match state.as_str() {
                "dialing" => of_call.0 = number(&at),
                _ => of_call.1 = number(&at),
            }
        }
        for call in &mut evidence.conversations {
            call.times = times.get(&call.id).copied().unwrap_or_default();
        }
        let words =
            "conversation_moments WHERE role IN ('user', 'agent') ORDER BY conversation_id, seq";
        let columns = [Id("conversation_id"), Text("role"), Text("content")];
        for [conversation, role, text] in self.rows(columns, words).await? {
            let handle = handle(&conversation);
            evidence.transcripts.push(Words { handle, role, text });
        }
        let ends = "conversation_moments WHERE state IN ('completed', 'failed')";
        let mut endings = std::collections::HashMap::<String, i64>::new();
        for [conversation] in self.rows([Id("conversation_id")], ends).await? {
            *endings.entry(conversation).or_default() += 1;
        }
        evidence.endings = endings.into_iter().collect();
        let columns = [
            Id("id"),
            Id("account_id"),
            Id("conversation_id"),
            Text("type"),
            Bytes("body"),
        ];
        let events = self.rows(columns, "events").await?.into_iter();
        evidence
            .events
            .extend(events.map(|[id, account, conversation, kind, body]| Event {
                id,
                account,
                conversation,
                kind,
                body,
            }));
        let columns = [Id("id"), Id("event_id"), Id("endpoint_id"), Text("state")];
        let deliveries = self.rows(columns, "deliveries").await?.into_iter();
        evidence
            .deliveries
            .extend(deliveries.map(|[id, event, endpoint, state]| Delivery {
                id,
                event,
                endpoint,
                state,
            }));
        self.books(evidence).await?;
        let columns = [Id("account_id"), Text("idempotency_key"), Bytes("body")];
        let keys = self.rows(columns, "idempotency_keys").await?.into_iter();
        let stored = keys.map(|[account, key, body]| StoredKey { account, key, body });
        evidence.keys.extend(stored);
        let tries = "(SELECT count(*) FROM batch_tries t WHERE t.recipient_id = r.id)";
        let columns = [Id("id"), Text("to_number"), Text("status"), Text(tries)];
        for [id, to, status, calls] in self.rows(columns, "batch_recipients r").await? {
            let calls = number(&calls);
            evidence.recipients.push(Recipient {
                id,
                to,
                status,
                calls,
            });
        }
        let open = "(pending + dialing)";
        let done = "(reached + unreached + blocked)";
        let columns = [
            Id("id"),
            Text("status"),
            Text("total"),
            Text(open),
            Text(done),
        ];
        for [id, status, total, open, done] in self.rows(columns, "campaigns").await? {
            evidence.campaigns.push(Campaign {
                id,
                status,
                total: number(&total),
                open: number(&open),
                done: number(&done),
            });
        }
        let columns = [
            Id("campaign_id"),
            Text("number"),
            Text("status"),
            Text("attempts"),
        ];
        for [campaign, to, status, attempts] in self.rows(columns, "campaign_recipients").await? {
            evidence.people.push(Person {
                campaign,
                to,
                status,
                attempts: number(&attempts),
            });
        }
        Ok(())
    }

    async fn books(&self, evidence: &mut Evidence) -> anyhow::Result<()> {
        let columns = [
            Id("account_id"),
            Text("seq"),
            Text("type"),
            Text("amount_credits"),
            Text("balance_after_credits"),
            Id("conversation_id"),
        ];
        for [account, seq, kind, amount, balance, conversation] in
            self.rows(columns, "ledger").await?
        {
            evidence.entries.push(Entry {
                account,
                seq: number(&seq),
                kind,
                amount: number(&amount),
                balance: number(&balance),
                conversation,
            });
        }
        let columns = [Id("account_id"), Text("balance"), Text("reserved")];
        for [account, balance, reserved] in self.rows(columns, "wallets").await? {
            evidence.wallets.push(Wallet {
                account,
                balance: number(&balance),
                reserved: number(&reserved),
            });
        }
        for [conversation] in self.rows([Id("conversation_id")], "reservations").await? {
            evidence.reservations.push(conversation);
        }
        Ok(())
    }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or(0)
}
