//! Short failure reasons of requests.

use std::error::Error;
use std::fmt;
use std::io;

use crate::Blocked;

/// Why a request got no response head. The words are stable and shown to customers; none reveals an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// `blocked_address`: the name has an address that is not public. Nothing was sent.
    BlockedAddress,
    /// `dns`: the name has no address, or the lookup timed out.
    Dns,
    /// `connect`: no TCP connection.
    Connect,
    /// `tls`: the certificate or the handshake failed.
    Tls,
    /// `timeout`: the receiver took too long.
    Timeout,
    /// `reset`: the receiver closed the connection before its response head.
    Reset,
    /// `protocol`: the response is not HTTP/1.1.
    Protocol,
}

impl Failure {
    /// The failure reason of `error`.
    pub fn of(error: &reqwest::Error) -> Self {
        if is_blocked(error) {
            Self::BlockedAddress
        } else if error.is_dns() {
            Self::Dns
        } else if causes(error).any(|cause| cause.is::<rustls::Error>()) {
            Self::Tls
        } else if error.is_timeout() {
            Self::Timeout
        } else if error.is_connect() {
            let https = error.url().is_some_and(|url| url.scheme() == "https");
            // TCP failures have other kinds: this connection was established and then ended in the handshake.
            if https && was_cut(error) {
                Self::Tls
            } else {
                Self::Connect
            }
        } else if was_cut(error) {
            Self::Reset
        } else {
            Self::Protocol
        }
    }

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BlockedAddress => "blocked_address",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the guard rejected the addresses of the request's target.
pub fn is_blocked(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| cause.is::<Blocked>())
}

/// Whether an established connection ended too early.
fn was_cut(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            matches!(
                error.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::UnexpectedEof
            )
        } else if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            error.is_incomplete_message() || error.is_closed() || error.is_canceled()
        } else {
            false
        }
    })
}

/// `error` and its causes. The error inside an [`io::Error`] counts as its cause, because `source` skips it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}
