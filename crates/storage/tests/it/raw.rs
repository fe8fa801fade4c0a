//! A direct connection, for statements that the store does not offer.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use offhook_domain::{AccountId, DeliveryId, EndpointId, EventId, EventType, Timestamp};
use offhook_storage::{DeliveryState, StoreConfig, mint};
use offhook_testkit::TestDatabase;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use uuid::Uuid;

pub(crate) enum Raw {
    Sqlite(SqliteConnection),
    Postgres(Client),
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    line: String,
}

impl Raw {
    pub(crate) async fn open(database: &TestDatabase) -> Self {
        match database.config() {
            StoreConfig::Sqlite { file, .. } => {
                let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
                conn.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON")
                    .unwrap();
                Self::Sqlite(conn)
            }
            StoreConfig::Postgres { url, .. } => Self::postgres(url).await,
        }
    }

    pub(crate) async fn postgres(url: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self::Postgres(client)
    }

    /// Runs statements; returns the database's error if it refuses.
    pub(crate) async fn try_run(&mut self, sql: &str) -> Result<(), String> {
        match self {
            Self::Sqlite(conn) => conn.batch_execute(sql).map_err(|error| error.to_string()),
            Self::Postgres(client) => client
                .batch_execute(sql)
                .await
                .map_err(|error| format!("{error:?}")),
        }
    }

    pub(crate) async fn run(&mut self, sql: &str) {
        self.try_run(sql).await.unwrap();
    }

    /// The rows of a query with one text column named `line`.
    pub(crate) async fn lines(&mut self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(conn) => {
                let rows: Vec<Line> = diesel::sql_query(sql).load(conn).unwrap();
                rows.into_iter().map(|row| row.line).collect()
            }
            Self::Postgres(client) => {
                let messages = client.simple_query(sql).await.unwrap();
                let rows = messages.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("").to_owned()),
                    _ => None,
                });
                rows.collect()
            }
        }
    }

    /// The only line of a query.
    pub(crate) async fn line(&mut self, sql: &str) -> String {
        let lines = self.lines(sql).await;
        assert_eq!(lines.len(), 1, "{sql}: {lines:?}");
        lines.into_iter().next().unwrap()
    }

    /// The number of rows of a query.
    pub(crate) async fn count(&mut self, from: &str) -> i64 {
        let sql = format!("SELECT CAST(count(*) AS TEXT) AS line FROM {from}");
        self.line(&sql).await.parse().unwrap()
    }

    /// Writes an event of an account and its delivery to an endpoint.
    pub(crate) async fn deliver(
        &mut self,
        (account, endpoint): (AccountId, EndpointId),
        (state, kind): (DeliveryState, EventType),
        at: Timestamp,
    ) -> DeliveryId {
        let (id, event): (DeliveryId, EventId) = (mint(at), mint(at));
        let (account, to) = (self.id(account.uuid()), self.id(endpoint.uuid()));
        let (row, event, at) = (self.id(id.uuid()), self.id(event.uuid()), self.at(at));
        let body = match self {
            Self::Sqlite(_) => "x'00'",
            Self::Postgres(_) => "'\\x00'",
        };
        self.run(&format!(
            "INSERT INTO events (id, account_id, type, body, created_at) VALUES ({event}, {account}, '{kind}', {body}, {at}); \
             INSERT INTO deliveries (id, account_id, endpoint_id, event_id, event_type, state, attempts_count, \
               abandoned_count, created_at) VALUES ({row}, {account}, {to}, {event}, '{kind}', '{state}', 0, 0, {at})"
        ))
        .await;
        id
    }

    /// An id in this database's notation.
    pub(crate) fn id(&self, id: Uuid) -> String {
        match self {
            Self::Sqlite(_) => format!("x'{}'", id.simple()),
            Self::Postgres(_) => format!("'{id}'"),
        }
    }

    /// An instant in this database's notation.
    pub(crate) fn at(&self, at: Timestamp) -> String {
        match self {
            Self::Sqlite(_) => at.micros().to_string(),
            Self::Postgres(_) => format!(
                "(timestamptz '1970-01-01 00:00:00Z' + interval '1 microsecond' * {})",
                at.micros()
            ),
        }
    }
}
