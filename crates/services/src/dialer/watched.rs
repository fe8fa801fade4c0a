//! Watches a call's carrier for the end of the dial.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use offhook_engine::ports::{Carrier, DialError, DialRequest, Leg};
use offhook_metrics::metrics;
use tracing::Instrument as _;

/// A carrier that reports when a dial has failed or is being undone. From then on this process knows more about the
/// call than its lease does, and keeps the lease until that is written: ending a call without word from the carrier may
/// take longer than a lease. A dial that the carrier took over is not reported here: the carrier must report it.
pub(crate) struct Watched<F> {
    pub(crate) carrier: Arc<dyn Carrier>,
    pub(crate) on_failure: F,
}

#[async_trait]
impl<F: Fn() + Send + Sync> Carrier for Watched<F> {
    async fn dial(&self, request: DialRequest) -> Result<Leg, DialError> {
        let asked = Instant::now();
        let dialing = self.carrier.dial(request);
        let dialed = dialing.instrument(tracing::info_span!("dial")).await;
        let outcome = match &dialed {
            Ok(_) => "taken_over",
            Err(DialError::NotConnected) => "not_connected",
            Err(DialError::Unknown) => "unknown",
            Err(DialError::Refused(reason)) => reason.as_str(),
        };
        metrics().calls.dialed(outcome, asked.elapsed());
        if dialed.is_err() {
            (self.on_failure)();
        }
        dialed
    }

    async fn hang_up_orphan(&self, handle: CallHandle) -> Result<(), DialError> {
        (self.on_failure)();
        self.carrier.hang_up_orphan(handle).await
    }

    fn is_down(&self) -> bool {
        self.carrier.is_down()
    }

    fn shared_number(&self) -> Option<E164> {
        self.carrier.shared_number()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use offhook_domain::{ConversationId, NodeId, Timestamp};
    use offhook_engine::ports::LineError;
    use tokio::sync::mpsc;

    use super::*;

    const AT: Timestamp = Timestamp::from_micros(0);

    /// Takes calls over, or leaves their outcome unknown.
    struct Network {
        takes_over: bool,
    }

    struct Silent;

    #[async_trait]
    impl offhook_engine::ports::Line for Silent {
        async fn say(&self, _text: &str) -> offhook_engine::ports::Spoken {
            offhook_engine::ports::Spoken::default()
        }

        fn stop_speaking(&self) {}

        async fn transfer(&self, _to: &offhook_domain::E164) -> Result<(), LineError> {
            Err(LineError::Gone)
        }

        async fn send_digits(&self, _digits: &str) -> Result<(), LineError> {
            Err(LineError::Gone)
        }

        async fn hang_up(&self) {}
    }

    #[async_trait]
    impl Carrier for Network {
        async fn dial(&self, _request: DialRequest) -> Result<Leg, DialError> {
            if !self.takes_over {
                return Err(DialError::Unknown);
            }
            let (_, events) = mpsc::channel(1);
            Ok(Leg {
                events,
                line: Box::new(Silent),
                speed: 1.0,
            })
        }

        async fn hang_up_orphan(&self, _handle: CallHandle) -> Result<(), DialError> {
            Err(DialError::Unknown)
        }
    }

    async fn signs(takes_over: bool, is_undone: bool) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let watched = Watched {
            carrier: Arc::new(Network { takes_over }),
            on_failure: move || {
                counted.fetch_add(1, Ordering::SeqCst);
            },
        };
        let handle = CallHandle(ConversationId::mint(AT, [1; 10]));
        let request = DialRequest {
            handle,
            from: "+15005550100".parse().unwrap(),
            to: "+5215512345678".parse().unwrap(),
            node: NodeId::mint(AT, [2; 10]),
            screens: false,
            longest: None,
        };
        let _ = watched.dial(request).await;
        if is_undone {
            let _ = watched.hang_up_orphan(handle).await;
        }
        count.load(Ordering::SeqCst)
    }

    #[tokio::test]
    async fn a_dial_that_failed_or_is_undone_keeps_its_claim_and_one_taken_over_waits_for_a_report()
    {
        assert_eq!(signs(true, false).await, 0);
        assert_eq!(signs(false, false).await, 1);
        assert_eq!(signs(true, true).await, 1);
    }
}
