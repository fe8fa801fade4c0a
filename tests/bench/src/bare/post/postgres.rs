//! The transaction on PostgreSQL, on as many connections as the service has.

use anyhow::Context as _;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::{Client, NoTls, Statement};

use super::Row;

const CONNECTIONS: usize = 16;

const CONVERSATION: &str = "INSERT INTO conversations (id, account_id, agent_id, key_id, agent_ref, to_number, \
       customer_phone, metadata, started_at, agent_version, runtime, channel, voice, state, status, from_number, \
       price_millicredits, has_audio, messages_count, last_seq, hangup_requested) \
     VALUES ($1::text::uuid, $2::text::uuid, $3::text::uuid, $4::text::uuid, $5, $6, $6, $7::text::json, \
       to_timestamp($8::bigint / 1000000.0), 1, 'engine', 'phone', true, 'queued', 'unknown', '+15005550100', \
       0, false, 0, 0, false)";
const EVENT: &str = "INSERT INTO events (id, account_id, conversation_id, type, body, created_at) \
     VALUES ($1::text::uuid, $2::text::uuid, $3::text::uuid, 'call.initiated', $4, \
       to_timestamp($5::bigint / 1000000.0))";

struct Session {
    client: Client,
    conversation: Statement,
    event: Statement,
}

/// Idle sessions.
pub(crate) struct Writer {
    free: Mutex<UnboundedReceiver<Session>>,
    back: UnboundedSender<Session>,
}

impl Writer {
    pub(super) async fn open(url: &str) -> anyhow::Result<Self> {
        let (back, free) = unbounded_channel();
        for _ in 0..CONNECTIONS {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            let conversation = client.prepare(CONVERSATION).await?;
            let event = client.prepare(EVENT).await?;
            back.send(Session {
                client,
                conversation,
                event,
            })?;
        }
        Ok(Self {
            free: Mutex::new(free),
            back,
        })
    }

    pub(super) async fn write(&self, row: Row) -> anyhow::Result<()> {
        let mut session = self.free.lock().await.recv().await.context("no session")?;
        let [id, account, agent, key] = row.ids.map(|id| id.to_string());
        let [agent_ref, to, metadata] = row.texts;
        let transaction = session.client.transaction().await?;
        transaction
            .execute(
                &session.conversation,
                &[
                    &id, &account, &agent, &key, &agent_ref, &to, &metadata, &row.at,
                ],
            )
            .await?;
        let event = row.event.to_string();
        transaction
            .execute(&session.event, &[&event, &account, &id, &row.body, &row.at])
            .await?;
        transaction.commit().await?;
        Ok(self.back.send(session)?)
    }
}
