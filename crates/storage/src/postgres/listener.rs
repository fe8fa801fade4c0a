//! Hearing what other processes on the same database say.

use std::pin::pin;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::StreamExt as _;

use crate::connect::Door;
use crate::{Result, StoreError};

/// The one channel: what is said is in the message.
pub(crate) const CHANNEL: &str = "offhook";

/// A session that hears what processes on this database tell each other, from the moment at which it was opened.
pub struct Listener(AsyncPgConnection);

impl Listener {
    pub(crate) async fn open(door: &Door) -> Result<Self> {
        let mut conn = door.connect().await?;
        conn.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        Ok(Self(conn))
    }

    /// The next message, also one of this process.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the session has ended: what is said until another one listens is not heard.
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
