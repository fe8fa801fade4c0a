//! The port for requests that a carrier sends by HTTP. The HTTP server passes requests and messages through without
//! reading them.

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use tokio::sync::oneshot;

use super::waiting::WaitingLine;

pub struct Callback<'a> {
    /// The path from its first slash, as sent.
    pub path: &'a str,
    /// The query string without the question mark, if there is one.
    pub query: Option<&'a str>,
    /// Returns a header's value by its lower-case name.
    pub header: &'a (dyn Fn(&str) -> Option<String> + Sync + 'a),
    pub body: &'a [u8],
}

/// Handles what a carrier sends.
pub trait CarrierCallbacks: Send + Sync {
    /// Handles a request. Returns `false`, without any effect, if the request cannot be verified as the carrier's. The
    /// sender learns no more than that.
    fn callback(&self, callback: &Callback<'_>) -> bool;

    /// Opens a connection for a call's sound at `path`. The sender is not yet verified. Returns `None`, without any
    /// effect, if no call waits for sound there or too many such connections are open.
    fn media(&self, path: &str) -> Option<Box<dyn MediaConnection>>;

    /// The called number, if the request announces an incoming call. The sender is not verified.
    fn called(&self, callback: &Callback<'_>) -> Option<E164>;

    /// Accepts an incoming call under `handle`. `credential` is that of the account that has the number, `None` if the
    /// number belongs to the deployment. Returns `None` if the request is not the carrier's.
    fn accept(
        &self,
        handle: CallHandle,
        callback: &Callback<'_>,
        credential: Option<&str>,
    ) -> Option<IncomingCall>;
}

/// An incoming call.
pub struct IncomingCall {
    /// The caller; `None` if the number is withheld or invalid.
    pub from: Option<E164>,
    pub to: E164,
    /// What another process needs to end the call if this one dies.
    pub dialog: String,
    /// The waiting call.
    pub line: Box<dyn WaitingLine>,
    /// The answer to the carrier's request, once it is known.
    pub answer: oneshot::Receiver<String>,
}

/// A carrier connection that carries a call's sound as text messages. Dropping it ends it.
#[async_trait]
pub trait MediaConnection: Send {
    /// Handles a message. Returns `false` if the connection must be closed.
    fn receive(&mut self, text: &str) -> bool;

    /// The next message to send, or `None` once the connection must be closed. Cancel-safe.
    async fn next(&mut self) -> Option<String>;
}
