//! Calls that come in by the trunks, handed to the agents of their numbers.

use futures_util::FutureExt as _;

use async_trait::async_trait;
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioLeg;
use offhook_services::{Inbound, InboundCall, NotAnswered, WaitingLine};
use offhook_sip::{Incoming, Refusal, SipCarrier};

use crate::prelude::*;
use crate::telephone::Switchboard;

/// Has calls answered till there are no trunks any more. Of those that find no place 64 wait at most; what comes on top is
/// told to try again. While this process is being stopped they are told to try
/// elsewhere.
pub(crate) async fn serve(switchboard: Switchboard, inbound: Inbound) {
    let Switchboard { carrier, mut calls } = switchboard;
    while let Some(incoming) = calls.recv().await {
        let Some(place) = inbound.place().await else {
            return;
        };
        let (carrier, inbound) = (Arc::clone(&carrier), inbound.clone());
        tokio::spawn(
            async move {
                take(incoming, carrier, &inbound).await;
                drop(place);
            }
            .boxed(),
        );
    }
}

async fn take(incoming: Incoming, carrier: Arc<SipCarrier>, inbound: &Inbound) {
    let trunk = incoming.trunk.clone();
    let Some(to) = number(&incoming.to) else {
        tracing::info!(
            trunk,
            "a call is not answered: what was called is no number"
        );
        incoming.refuse(Refusal::NotFound);
        return;
    };
    let call = InboundCall {
        id: inbound.mint(),
        from: incoming.from.as_deref().and_then(number),
        to,
        dialog: Some(incoming.dialog()),
    };
    let line = Line { incoming, carrier };
    if let Err(why) = inbound.answer(call, Box::new(line)).await {
        tracing::info!(trunk, ?why, "a call is not answered");
    }
}

/// A call that waits at its trunk.
struct Line {
    incoming: Incoming,
    carrier: Arc<SipCarrier>,
}

#[async_trait]
impl WaitingLine for Line {
    fn ring(&self) {
        self.incoming.ring(None);
    }

    async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError> {
        let Self { incoming, carrier } = *self;
        carrier.answer(incoming).await.map_err(|error| {
            tracing::warn!(%error, "a call's sound cannot be carried");
            DialError::Refused(FailureReason::CarrierError)
        })
    }

    fn refuse(self: Box<Self>, why: NotAnswered) {
        self.incoming.refuse(match why {
            NotAnswered::UnknownNumber => Refusal::NotFound,
            NotAnswered::Unavailable => Refusal::Unavailable,
            NotAnswered::Busy => Refusal::Busy,
            NotAnswered::Later => Refusal::Later,
        });
    }
}

/// A number as carriers write it: in E.164 form, without its `+`, or with `00` for it, perhaps with marks for the eye and
/// with parameters behind (RFC 3966). In a national form it is nobody's here: a trunk does not say of which country.
fn number(written: &str) -> Option<E164> {
    let bare = written.split(';').next().unwrap_or_default();
    let bare = bare.replace("%2B", "+").replace("%2b", "+");
    let bare: String = bare
        .chars()
        .filter(|c| !matches!(c, '-' | '.' | '(' | ')' | ' '))
        .collect();
    let digits = bare
        .strip_prefix('+')
        .or_else(|| bare.strip_prefix("00"))
        .unwrap_or(&bare);
    format!("+{digits}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_in_each_of_its_forms() {
        for written in [
            "+15005550100",
            "15005550100",
            "0015005550100",
            "%2B15005550100",
            "+1-500-555-0100",
            "+1(500)555.0100",
            "+15005550100;npdi;rn=+15005550000",
        ] {
            let read = number(written).map(|number| number.as_str().to_owned());
            assert_eq!(read.as_deref(), Some("+15005550100"), "{written}");
        }
    }

    #[test]
    fn what_is_no_number_is_nobodys() {
        for written in [
            "",
            "+",
            "alice",
            "05005550100",
            "0",
            "12345",
            "++15005550100",
            "+15005550100x",
            "+１５００５５５０１００",
            "anonymous",
            "1234567890123456",
        ] {
            assert_eq!(number(written), None, "{written}");
        }
    }
}
