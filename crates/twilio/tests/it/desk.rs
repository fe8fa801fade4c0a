//! A carrier next to a fake of Twilio, with test helpers for both.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{CallHandle, ConversationId, NodeId, Timestamp};
use offhook_engine::ports::audio::{AudioCarrier as _, AudioEvent, AudioLeg};
use offhook_engine::ports::callbacks::{Callback, CarrierCallbacks as _, MediaConnection};
use offhook_engine::ports::{DialError, DialRequest};
use offhook_testkit::fakes::twilio::{
    ACCOUNT, FakeTwilio, PlacedCall, SIGNING_KEY, SignedForm, TOKEN, beginning,
};
use offhook_twilio::{TwilioCarrier, TwilioSettings};
use serde_json::Value;
use tokio::time::timeout;

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const AT: Timestamp = Timestamp::from_micros(0);

pub(crate) struct Desk {
    pub(crate) twilio: FakeTwilio,
    pub(crate) carrier: Arc<TwilioCarrier>,
}

pub(crate) fn carrier(base_url: String) -> Arc<TwilioCarrier> {
    let settings = TwilioSettings {
        base_url,
        account_sid: ACCOUNT.to_owned(),
        auth_token: Some(TOKEN.to_owned()),
        api_key: None,
        signing_key: Some(SIGNING_KEY.to_owned()),
        our_url: "https://n1.voice.example.com".to_owned(),
        public_url: "https://voice.example.com".to_owned(),
    };
    Arc::new(TwilioCarrier::new(&settings).unwrap())
}

pub(crate) fn handle(n: u8) -> CallHandle {
    CallHandle(ConversationId::mint(AT, [n; 10]))
}

pub(crate) fn request(n: u8) -> DialRequest {
    DialRequest {
        handle: handle(n),
        from: "+15005550100".parse().unwrap(),
        to: "+5215512345678".parse().unwrap(),
        node: NodeId::mint(AT, [2; 10]),
        screens: true,
        longest: Some(Duration::from_secs(600)),
    }
}

/// The next event, except keep-alives and statuses, which are no outcome.
pub(crate) async fn event(leg: &mut AudioLeg) -> Option<AudioEvent> {
    loop {
        let event = timeout(PATIENCE, leg.events.recv()).await;
        match event.expect("an event") {
            Some(AudioEvent::Accepted | AudioEvent::Status(_)) => {}
            event => return event,
        }
    }
}

/// The next message to Twilio.
pub(crate) async fn said(connection: &mut Box<dyn MediaConnection>) -> Option<Value> {
    let text = timeout(PATIENCE, connection.next()).await;
    let text = text.expect("a message")?;
    Some(serde_json::from_str(&text).unwrap())
}

impl Desk {
    pub(crate) async fn open() -> Self {
        let twilio = FakeTwilio::start().await;
        let carrier = carrier(twilio.upstream().base_url());
        Self { twilio, carrier }
    }

    /// Passes a form to the carrier, as the HTTP layer does.
    pub(crate) fn post(&self, form: &SignedForm) -> bool {
        self.with(form, |callback| self.carrier.callback(callback))
    }

    /// Passes the form to `take`, as the HTTP layer does.
    pub(crate) fn with<T>(&self, form: &SignedForm, take: impl FnOnce(&Callback<'_>) -> T) -> T {
        take(&Callback {
            path: &form.path,
            query: None,
            header: &|name| form.header(name),
            body: form.body.as_bytes(),
        })
    }

    /// Posts this as the n-th status of the call.
    pub(crate) fn tell(&self, call: &PlacedCall, status: &str, number: u64) {
        assert!(
            self.post(&self.twilio.tells(call, status, number)),
            "{status}"
        );
    }

    pub(crate) async fn dial(&self, n: u8) -> Result<AudioLeg, DialError> {
        timeout(PATIENCE, self.carrier.dial(request(n)))
            .await
            .unwrap()
    }

    /// Opens a connection at the address of a call's stream, if there is a place for it.
    pub(crate) fn media(&self, call: &PlacedCall) -> Option<Box<dyn MediaConnection>> {
        self.carrier.media(&call.stream_path())
    }

    /// Opens a call's stream.
    pub(crate) fn stream(&self, call: &PlacedCall) -> Box<dyn MediaConnection> {
        let mut connection = self.media(call).expect("a place");
        for text in beginning(call, &call.stream_token()) {
            assert!(connection.receive(&text), "{text}");
        }
        connection
    }

    /// An answered call.
    pub(crate) async fn answered(&self) -> (AudioLeg, PlacedCall, Box<dyn MediaConnection>) {
        let mut leg = self.dial(1).await.unwrap();
        let call = self.twilio.placed(0).await;
        self.tell(&call, "ringing", 1);
        assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
        self.tell(&call, "in-progress", 2);
        let connection = self.stream(&call);
        assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
        (leg, call, connection)
    }

    /// Waits until Twilio got these updates of the call.
    pub(crate) async fn was_told(&self, sid: &str, changes: &[(&str, &str)]) {
        let told = self.twilio.until("the end of the call", |calls| {
            let call = calls.iter().find(|call| call.sid == sid)?;
            (call.changes.len() >= changes.len()).then(|| call.changes.clone())
        });
        let told = told.await;
        let told: Vec<_> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(told, changes);
    }
}
