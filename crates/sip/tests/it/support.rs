//! An endpoint with one trunk on private loopback ports, and its calls' events.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use offhook_sip::{
    Incoming, Invite, Listen, SipCall, SipEvent, SipSettings, SipTrunks, Timers, Transport, Trunk,
    TrunkSettings,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::it::sipp::{Play, Sipp};

/// Longer than any step here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
    m=audio 40000 RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\n";

pub(crate) const ANSWER: &str = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
    m=audio 40000 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=recvonly\r\n";

pub(crate) const FROM: &str = "+15005550100";

pub(crate) const TO: &str = "+5215512345678";

/// The trunk `carrier`, whose server is at `server`.
pub(crate) fn trunk(server: SocketAddr) -> TrunkSettings {
    TrunkSettings {
        name: "carrier".to_owned(),
        server: server.to_string(),
        user: Some("engine".to_owned()),
        password: Some("secret".to_owned()),
        ..TrunkSettings::default()
    }
}

/// A running endpoint.
pub(crate) struct Stage {
    pub(crate) trunks: Arc<SipTrunks>,
    pub(crate) incoming: mpsc::Receiver<Incoming>,
}

impl Stage {
    /// With the usual timers.
    pub(crate) async fn with(server: SocketAddr) -> Self {
        Self::set(trunk(server), Timers::default()).await
    }

    pub(crate) async fn set(trunk: TrunkSettings, timers: Timers) -> Self {
        Self::start(trunk.check().unwrap(), timers).await
    }

    async fn start(trunk: Trunk, timers: Timers) -> Self {
        let mut listen = vec![Listen::on(Transport::Udp, "127.0.0.1:0".parse().unwrap())];
        if trunk.transport() == Transport::Tcp {
            listen.push(Listen::on(Transport::Tcp, "127.0.0.1:0".parse().unwrap()));
        }
        let settings = SipSettings {
            timers,
            ..SipSettings::new(listen)
        };
        let (trunks, incoming) = SipTrunks::start(settings, vec![trunk]).await.unwrap();
        Self {
            trunks: Arc::new(trunks),
            incoming,
        }
    }

    /// The endpoint's UDP address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.trunks.addresses()[0]
    }

    /// The next incoming call.
    pub(crate) async fn comes_in(&mut self) -> Incoming {
        timeout(PATIENCE, self.incoming.recv())
            .await
            .expect("a call in time")
            .unwrap()
    }

    pub(crate) async fn call(&self) -> SipCall {
        self.trunks.call("carrier", invite(1)).await.unwrap()
    }

    /// Checks that the peer's scenario succeeded, and that no dialog is left.
    pub(crate) async fn is_through_with(&self, peer: &mut Sipp) {
        peer.succeeds().await;
        self.is_empty().await;
    }

    /// Waits until the stack holds no dialog.
    pub(crate) async fn is_empty(&self) {
        let emptied = async {
            while self.trunks.dialogs() > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, emptied)
            .await
            .expect("dialogs are left in the stack");
    }
}

/// A callee with this scenario, and a call to it.
pub(crate) async fn called(play: Play) -> (Sipp, Stage, SipCall) {
    let callee = play.start().listening().await;
    let stage = Stage::with(callee.address).await;
    let call = stage.call().await;
    (callee, stage, call)
}

pub(crate) fn invite(number: u32) -> Invite {
    Invite {
        handle: format!("call_01900000-0000-7000-8000-{number:012}")
            .parse()
            .unwrap(),
        from: FROM.parse().unwrap(),
        to: TO.parse().unwrap(),
        offer: OFFER.to_owned(),
    }
}

pub(crate) async fn next(call: &mut SipCall) -> Option<SipEvent> {
    timeout(PATIENCE, call.next())
        .await
        .expect("an event in time")
}

/// The next event in debug format; `-` at the end.
pub(crate) async fn told(call: &mut SipCall) -> String {
    next(call)
        .await
        .map_or("-".to_owned(), |event| format!("{event:?}"))
}

/// All remaining events in debug format.
pub(crate) async fn rest(call: &mut SipCall) -> Vec<String> {
    let mut rest = Vec::new();
    while let Some(event) = next(call).await {
        rest.push(format!("{event:?}"));
    }
    rest
}
