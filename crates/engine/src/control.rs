//! The handle through which other tasks end the call of a session.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a call must end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRequest {
    /// `POST /v1/calls/{handle}/hangup`: hang up without a goodbye.
    ApiHangup,
    /// The wallet covers no more: say goodbye, then hang up.
    OutOfCredits,
    /// The process shuts down: say goodbye, then hang up; the call fails with `interrupted`.
    Drain,
    /// Another worker owns the call, or may own it: hang up at once and write nothing more.
    ClaimLost,
}

/// Ends a call from outside its session. All clones control the same call. A request made before the session starts
/// counts too.
#[derive(Debug, Clone)]
pub struct CallControl(Arc<watch::Sender<Option<EndRequest>>>);

impl Default for CallControl {
    fn default() -> Self {
        Self::new()
    }
}

impl CallControl {
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Requests the end of the call. A more pressing request replaces an earlier one: a hangup does not wait for a
    /// goodbye, and a lost claim waits for nothing.
    pub fn end(&self, request: EndRequest) {
        self.0.send_if_modified(|current| {
            let stronger = current.is_none_or(|now| pressure(request) > pressure(now));
            if stronger {
                *current = Some(request);
            }
            stronger
        });
    }

    /// The most pressing request so far.
    pub fn requested(&self) -> Option<EndRequest> {
        *self.0.borrow()
    }

    /// Waits for a request more pressing than `than`; never resolves if none comes. Cancel-safe.
    pub async fn beyond(&self, than: Option<EndRequest>) -> EndRequest {
        self.subscribe().beyond(than).await
    }

    pub(crate) fn subscribe(&self) -> EndRequests {
        EndRequests(self.0.subscribe())
    }
}

const fn pressure(request: EndRequest) -> u8 {
    match request {
        EndRequest::OutOfCredits | EndRequest::Drain => 1,
        EndRequest::ApiHangup => 2,
        EndRequest::ClaimLost => 3,
    }
}

/// The session's side of a [`CallControl`].
#[derive(Clone)]
pub(crate) struct EndRequests(watch::Receiver<Option<EndRequest>>);

impl EndRequests {
    /// Waits for a request more pressing than `than`; never resolves if none comes. Cancel-safe.
    pub(crate) async fn beyond(&mut self, than: Option<EndRequest>) -> EndRequest {
        let floor = than.map_or(0, pressure);
        loop {
            let asked = self
                .0
                .wait_for(|request| request.is_some_and(|r| pressure(r) > floor))
                .await
                .ok()
                .and_then(|request| *request);
            match asked {
                Some(request) => return request,
                None => std::future::pending::<()>().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_more_pressing_request_replaces_a_weaker_one_and_never_the_other_way_round() {
        let control = CallControl::new();
        control.end(EndRequest::Drain);
        control.end(EndRequest::OutOfCredits);
        assert_eq!(control.requested(), Some(EndRequest::Drain));
        control.end(EndRequest::ClaimLost);
        control.end(EndRequest::ApiHangup);
        assert_eq!(control.requested(), Some(EndRequest::ClaimLost));
    }
}
