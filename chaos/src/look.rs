//! Looks into the database beside the service.

use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::evidence::{
    Conversation, Delivery, Entry, Event, Evidence, Recipient, StoredKey, Wallet,
};
use crate::world::World;

/// A database that is looked into.
pub(crate) enum Look {
    Sqlite(Mutex<SqliteConnection>),
    Postgres(tokio_postgres::Client),
}

#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

/// How a column is read into text.
enum Column {
    /// An id, as 32 hexadecimal digits.
    Id(&'static str),
    /// Text or a number; empty if there is none.
    Text(&'static str),
    /// Bytes in hexadecimal.
    Bytes(&'static str),
}

use Column::{Bytes, Id, Text};

impl Look {
    /// Opens the database of a run.
    pub(crate) async fn open(world: &World) -> anyhow::Result<Self> {
        let Some(postgres) = &world.postgres else {
            let file = world.admin.directory.join("data").join("offhook.db");
            let mut connection = SqliteConnection::establish(&file.to_string_lossy())?;
            connection.batch_execute("PRAGMA busy_timeout = 5000")?;
            return Ok(Self::Sqlite(Mutex::new(connection)));
        };
        let url = postgres.lock().await.url("offhook");
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
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

    async fn rows(&self, columns: &[Column], from: &str) -> anyhow::Result<Vec<Vec<String>>> {
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
        let count = columns.len();
        let list = columns.join(" || '|' || ");
        let lines = self
            .lines(format!("SELECT {list} AS line FROM {from}"))
            .await?;
        Ok(lines
            .into_iter()
            .map(|line| {
                let mut row: Vec<String> = line.splitn(count, '|').map(str::to_owned).collect();
                row.resize(count, String::new());
                row
            })
            .collect())
    }

    /// What is still to be done; nothing once the run is over.
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
        ] {
            let state = if what == "batch" { "status" } else { "state" };
            for row in self.rows(&[Id("id"), Text(state)], from).await? {
                left.push(format!("{what} {} is left `{}`", row[0], row[1]));
            }
        }
        Ok(left)
    }

    /// Adds what the database has.
    pub(crate) async fn read(&self, evidence: &mut Evidence) -> anyhow::Result<()> {
        let columns = [
            Id("id"),
            Id("account_id"),
            Text("state"),
            Text("to_number"),
            Text("failure_reason"),
            Text("credits"),
            Text("metadata"),
        ];
        for row in self.rows(&columns, "conversations").await? {
            let metadata: serde_json::Value = serde_json::from_str(&row[6]).unwrap_or_default();
            evidence.conversations.push(Conversation {
                id: row[0].clone(),
                account: row[1].clone(),
                state: row[2].clone(),
                to: row[3].clone(),
                failure: row[4].clone(),
                credits: number(&row[5]),
                key: metadata["key"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let ends = "conversation_moments WHERE state IN ('completed', 'failed')";
        let mut endings = std::collections::HashMap::<String, i64>::new();
        for mut row in self.rows(&[Id("conversation_id")], ends).await? {
            *endings.entry(row.remove(0)).or_default() += 1;
        }
        evidence.endings = endings.into_iter().collect();
        let columns = [
            Id("id"),
            Id("account_id"),
            Id("conversation_id"),
            Text("type"),
            Bytes("body"),
        ];
        for row in self.rows(&columns, "events").await? {
            evidence.events.push(Event {
                id: row[0].clone(),
                account: row[1].clone(),
                conversation: row[2].clone(),
                kind: row[3].clone(),
                body: row[4].clone(),
            });
        }
        let columns = [Id("id"), Id("event_id"), Id("endpoint_id"), Text("state")];
        for row in self.rows(&columns, "deliveries").await? {
            evidence.deliveries.push(Delivery {
                id: row[0].clone(),
                event: row[1].clone(),
                endpoint: row[2].clone(),
                state: row[3].clone(),
            });
        }
        self.books(evidence).await?;
        let columns = [Id("account_id"), Text("idempotency_key"), Bytes("body")];
        for row in self.rows(&columns, "idempotency_keys").await? {
            evidence.keys.push(StoredKey {
                account: row[0].clone(),
                key: row[1].clone(),
                body: row[2].clone(),
            });
        }
        let columns = [
            Id("id"),
            Text("to_number"),
            Text("status"),
            Text("(SELECT count(*) FROM batch_tries t WHERE t.recipient_id = r.id)"),
        ];
        for row in self.rows(&columns, "batch_recipients r").await? {
            evidence.recipients.push(Recipient {
                id: row[0].clone(),
                to: row[1].clone(),
                status: row[2].clone(),
                calls: number(&row[3]),
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
        for row in self.rows(&columns, "ledger").await? {
            evidence.entries.push(Entry {
                account: row[0].clone(),
                seq: number(&row[1]),
                kind: row[2].clone(),
                amount: number(&row[3]),
                balance: number(&row[4]),
                conversation: row[5].clone(),
            });
        }
        let columns = [Id("account_id"), Text("balance"), Text("reserved")];
        for row in self.rows(&columns, "wallets").await? {
            evidence.wallets.push(Wallet {
                account: row[0].clone(),
                balance: number(&row[1]),
                reserved: number(&row[2]),
            });
        }
        for mut row in self.rows(&[Id("conversation_id")], "reservations").await? {
            evidence.reservations.push(row.remove(0));
        }
        Ok(())
    }
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or(0)
}
