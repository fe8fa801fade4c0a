//! The door of a carrier that speaks HTTP: what it sends to this process. Whoever serves HTTP hands requests and messages
//! through as they come, and knows nothing of what is in them.

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use tokio::sync::oneshot;

use super::waiting::WaitingLine;

/// A request of a carrier, as it came.
pub struct Callback<'a> {
    /// The path, from its first slash, as it was sent.
    pub path: &'a str,
    /// What stands behind the question mark, if there is one.
    pub query: Option<&'a str>,
    /// The value of a header, by its name in lower case.
    pub header: &'a (dyn Fn(&str) -> Option<String> + Sync + 'a),
    /// The body's bytes.
    pub body: &'a [u8],
}

/// What takes in what a carrier sends.
pub trait CarrierDoor: Send + Sync {
    /// Takes a request. `false` if it is not known to be the carrier's: nothing was done then, and the sender is told no
    /// more than that.
    fn callback(&self, callback: &Callback<'_>) -> bool;

    /// A connection for a call's sound, asked for at `path` by somebody who has not shown yet that it is the carrier.
    /// `None` if no call waits for its sound there, or enough such connections are open; nothing was done then.
    fn media(&self, path: &str) -> Option<Box<dyn MediaConnection>>;

    /// The number that is called, in a request that says that a call comes in; `None` if it says nothing of the kind.
    /// Nothing is known of its sender.
    fn called(&self, callback: &Callback<'_>) -> Option<E164>;

    /// Takes in a call that comes in, which goes by `handle` from here on. `credential` is that of the account which has
    /// the number, `None` if the number is the deployment's. `None` if the request is not the carrier's.
    fn come_in(
        &self,
        handle: CallHandle,
        callback: &Callback<'_>,
        credential: Option<&str>,
    ) -> Option<CameIn>;
}

/// A call that comes in.
pub struct CameIn {
    /// Who calls; `None` if the caller's number is withheld, or is none.
    pub from: Option<E164>,
    /// The number called.
    pub to: E164,
    /// What another process needs to end the call, should this one die.
    pub dialog: String,
    /// Where it waits.
    pub line: Box<dyn WaitingLine>,
    /// What the carrier is to be answered, once it is known.
    pub answer: oneshot::Receiver<String>,
}

/// A connection of a carrier that carries a call's sound in texts. Dropped, it is over.
#[async_trait]
pub trait MediaConnection: Send {
    /// Takes a text. `false` if the connection is to be closed.
    fn take(&mut self, text: &str) -> bool;

    /// The next text to send, or `None` once the connection is to be closed. Safe to cancel.
    async fn next(&mut self) -> Option<String>;
}
