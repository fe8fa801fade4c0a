//! Incoming calls: Twilio requests instructions for each, and waits for the answer while the caller hears ringing.

use async_trait::async_trait;
use offhook_domain::{CallHandle, E164};
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioLeg;
use offhook_engine::ports::callbacks::IncomingCall;
use offhook_engine::ports::waiting::{NotAnswered, WaitingLine};
use tokio::sync::oneshot;

use crate::carrier::TwilioCarrier;
use crate::party::Form;
use crate::settings::is_sid;
use crate::stream::reject_twiml;

/// The call that a signed form announces; `None` if it announces none.
pub(crate) fn waiting(
    carrier: TwilioCarrier,
    handle: CallHandle,
    form: &Form,
) -> Option<IncomingCall> {
    let sid = form.get("CallSid").filter(|sid| is_sid(sid, "CA"))?;
    let to: E164 = form.get("To")?.parse().ok()?;
    let (says, said) = oneshot::channel();
    let line = Waiting {
        carrier,
        handle,
        sid: sid.to_owned(),
        our_number: to.clone(),
        says: Some(says),
    };
    Some(IncomingCall {
        from: form.get("From").and_then(|from| from.parse().ok()),
        to,
        dialog: sid.to_owned(),
        line: Box::new(line),
        answer: said,
    })
}

/// A call that waits for our instructions.
struct Waiting {
    carrier: TwilioCarrier,
    handle: CallHandle,
    sid: String,
    our_number: E164,
    says: Option<oneshot::Sender<String>>,
}

impl Waiting {
    fn say(&mut self, twiml: String) -> bool {
        let says = self.says.take();
        says.is_some_and(|says| says.send(twiml).is_ok())
    }
}

/// Rejects a call that was not answered.
impl Drop for Waiting {
    fn drop(&mut self) {
        self.say(reject_twiml("busy"));
    }
}

#[async_trait]
impl WaitingLine for Waiting {
    /// Twilio plays ringing to the caller.
    fn ring(&self) {}

    async fn answer(mut self: Box<Self>) -> Result<AudioLeg, DialError> {
        let (call, leg, twiml) = self.carrier.open(self.handle, self.our_number.clone())?;
        // The call uses its original id, whatever signals come later.
        call.line.is_of(&self.sid);
        if !self.say(twiml) {
            call.forget();
            return Err(DialError::Unknown);
        }
        self.carrier.spawn(call.run_answered());
        Ok(leg)
    }

    fn refuse(mut self: Box<Self>, why: NotAnswered) {
        self.say(reject_twiml(match why {
            NotAnswered::UnknownNumber | NotAnswered::Unavailable => "rejected",
            NotAnswered::Busy | NotAnswered::Later => "busy",
        }));
    }
}
