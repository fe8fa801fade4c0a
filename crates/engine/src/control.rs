//! The handle by which others end a call that a session holds.

use std::sync::Arc;

use tokio::sync::watch;

/// Why a call is to end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRequest {
    /// `POST /v1/calls/{handle}/hangup`: hang up, without a word.
    ApiHangup,
    /// The wallet cannot cover more: say goodbye, then hang up.
    OutOfCredits,
    /// The process stops: say goodbye, then hang up; the call failed, `interrupted`.
    Drain,
    /// The call belongs to another owner, or may: hang up at once and write nothing more.
    ClaimLost,
}

/// Ends a call from outside. Every clone speaks to the same call; what was asked before the session began counts too.
#[derive(Debug, Clone)]
pub struct CallControl(Arc<watch::Sender<Option<EndRequest>>>);

impl Default for CallControl {
    fn default() -> Self {
        Self::new()
    }
}

impl CallControl {
    /// The control of one call.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Asks the session to end the call. A request that is more pressing replaces an earlier one: a hang-up does not
    /// wait for a goodbye, and a lost claim for nothing.
    pub fn end(&self, request: EndRequest) {
        self.0.send_if_modified(|current| {
            let stronger = current.is_none_or(|now| pressure(request) > pressure(now));
            if stronger {
                *current = Some(request);
            }
            stronger
        });
    }

    /// What was asked for so far.
    pub fn requested(&self) -> Option<EndRequest> {
        *self.0.borrow()
    }

    /// Waits for a request more pressing than `than`; for ever, if none comes. Safe to cancel.
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
    /// Waits for a request more pressing than `than`; for ever, if none comes. Safe to cancel.
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
