//! Listens to messages of other processes on the same database.

use std::pin::pin;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::StreamExt as _;

use crate::connect::Door;
use crate::{Result, StoreError};

/// The only channel: the message says what it is about.
pub(crate) const CHANNEL: &str = "offhook";

/// A session that receives the messages of processes on this database, from the moment it is opened.
pub struct Listener(AsyncPgConnection);

impl Listener {
    pub(crate) async fn open(door: &Door) -> Result<Self> {
        let mut conn = door.connect().await?;
        conn.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        Ok(Self(conn))
    }

    /// The next message, including those of this process.
    ///
    /// Returns [`StoreError::Unavailable`] when the session has ended. Messages sent before another session listens are
    /// lost.
    pub async fn next(&mut self) -> Result<String> {
        match pin!(self.0.notifications_stream()).next().await {
            Some(Ok(notification)) => Ok(notification.payload),
            Some(Err(error)) => Err(StoreError::Unavailable(error.to_string())),
            None => Err(StoreError::Unavailable(
                "the listening session has ended".into(),
            )),
        }
    }
}
