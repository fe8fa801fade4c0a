//! The network of one incoming call: dialing it answers the caller.

use async_trait::async_trait;
use offhook_domain::CallHandle;
use offhook_engine::ports::audio::{AudioCarrier, AudioLeg};
use offhook_engine::ports::{DialError, DialRequest};
use parking_lot::Mutex;

use crate::WaitingLine;

/// The caller's line, until it is answered.
pub(crate) struct CameIn(Mutex<Option<Box<dyn WaitingLine>>>);

impl CameIn {
    pub(crate) fn new(line: Box<dyn WaitingLine>) -> Self {
        Self(Mutex::new(Some(line)))
    }

    fn take(&self) -> Option<Box<dyn WaitingLine>> {
        self.0.lock().take()
    }
}

#[async_trait]
impl AudioCarrier for CameIn {
    /// The session is ready, so answer the caller.
    async fn dial(&self, _request: DialRequest) -> Result<AudioLeg, DialError> {
        match self.take() {
            Some(line) => line.answer().await,
            // It is answered once; a broken connection cannot be restored from here.
            None => Err(DialError::Unknown),
        }
    }

    /// Refuses a caller who still waits. An answered line was hung up when it was dropped.
    async fn hang_up_orphan(&self, _handle: CallHandle) -> Result<(), DialError> {
        drop(self.take());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use offhook_domain::{ConversationId, FailureReason, NodeId, Timestamp};

    use super::*;
    use crate::NotAnswered;

    /// Counts its answers, and whether it was dropped.
    struct Line {
        answers: Arc<AtomicUsize>,
        gone: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl WaitingLine for Line {
        fn ring(&self) {}

        async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError> {
            self.answers.fetch_add(1, Ordering::SeqCst);
            Err(DialError::Refused(FailureReason::CarrierError))
        }

        fn refuse(self: Box<Self>, _why: NotAnswered) {}
    }

    impl Drop for Line {
        fn drop(&mut self) {
            self.gone.fetch_add(1, Ordering::SeqCst);
        }
    }

    const AT: Timestamp = Timestamp::from_micros(0);

    fn request() -> DialRequest {
        DialRequest {
            handle: CallHandle(ConversationId::mint(AT, [1; 10])),
            from: "+5215512345678".parse().unwrap(),
            to: "+15005550100".parse().unwrap(),
            node: NodeId::mint(AT, [2; 10]),
            screens: false,
            longest: None,
        }
    }

    #[tokio::test]
    async fn a_waiting_caller_is_answered_once_or_let_go_of() {
        let (answers, gone) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let line = || {
            let (answers, gone) = (answers.clone(), gone.clone());
            CameIn::new(Box::new(Line { answers, gone }))
        };
        let answered = line();
        for refusal in [
            DialError::Refused(FailureReason::CarrierError),
            DialError::Unknown,
        ] {
            assert_eq!(answered.dial(request()).await.err(), Some(refusal));
        }
        assert_eq!(answers.load(Ordering::SeqCst), 1);

        let given_up = line();
        given_up.hang_up_orphan(request().handle).await.unwrap();
        assert_eq!(gone.load(Ordering::SeqCst), 2);
        assert_eq!(
            given_up.dial(request()).await.err(),
            Some(DialError::Unknown)
        );
        assert_eq!(answers.load(Ordering::SeqCst), 1);
    }
}
