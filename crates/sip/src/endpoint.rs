//! The endpoint: listeners, trunks, and outgoing and incoming calls.

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use offhook_domain::{CallHandle, E164};
use parking_lot::Mutex;
use rsipstack::dialog::dialog_layer::DialogLayer;
use rsipstack::sip::{self, Scheme};
use rsipstack::transaction::endpoint::{EndpointInnerRef, EndpointOption};
use rsipstack::transaction::{CallIdFormat, EndpointBuilder};
use rsipstack::transport::{SipAddr, TransportLayer};
use rustls::ClientConfig;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call::SipCall;
use crate::challenge::Challenges;
use crate::gate::{Gate, GateInspector};
use crate::health::{Health, NoAnswer, probe, watch};
use crate::inbound::{CallName, Incoming, accept};
use crate::listen::{StartError, check, listen, opened};
use crate::outbound;
use crate::reach::{Route, same_family};
use crate::saved::{self, EndError};
use crate::settings::{SipSettings, Timers, Transport};
use crate::trunk::Trunk;

/// The domain of our Call-IDs. The local part is the call's handle, so that the carrier knows the call by our
/// reference.
pub(crate) const CALL_ID_DOMAIN: &str = "offhook";

/// Incoming calls that may wait for the application; further ones are rejected with `Retry-After`.
const INCOMING_WAITING: usize = 64;

/// The methods that we support.
pub(crate) const ALLOW: &str = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, NOTIFY";

/// A running endpoint with its trunks. Dropping it closes the sockets.
pub struct SipTrunks {
    pub(crate) shared: Arc<Shared>,
}

/// The state that all calls share.
pub(crate) struct Shared {
    pub(crate) endpoint: EndpointInnerRef,
    pub(crate) layer: Arc<DialogLayer>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) trunks: Vec<TrunkState>,
    pub(crate) timers: Timers,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) stop: CancellationToken,
    pub(crate) incoming: mpsc::Sender<Incoming>,
    /// The names of the incoming calls in progress.
    pub(crate) came_in: Mutex<HashSet<CallName>>,
    /// The key that signs our digest challenges.
    pub(crate) secret: ring::hmac::Key,
    /// When the endpoint was started.
    pub(crate) since: Instant,
}

/// A trunk and its state.
pub(crate) struct TrunkState {
    pub(crate) trunk: Trunk,
    pub(crate) route: Route,
    pub(crate) health: Health,
}

/// An outgoing call.
#[derive(Clone)]
pub struct Invite {
    /// Our reference. The Call-ID is derived from it, so one handle is one call.
    pub handle: CallHandle,
    /// The caller ID.
    pub from: E164,
    /// The called number.
    pub to: E164,
    /// Our offer (RFC 3264).
    pub offer: String,
}

/// Hides the numbers.
impl fmt::Debug for Invite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invite({})", self.handle)
    }
}

/// Why a call was not started. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no trunk with this name.
    #[error("there is no trunk `{0}`")]
    UnknownTrunk(String),
    /// The carrier is unreachable. A retry may succeed.
    #[error("trunk `{trunk}`: {fault}")]
    NotConnected {
        /// The name of the trunk.
        trunk: String,
        /// Why it is unreachable.
        fault: String,
    },
    /// The request cannot be built.
    #[error("trunk `{0}`: the call cannot be put into words")]
    Malformed(String),
}

#[boxed]
impl SipTrunks {
    /// Starts the listeners and monitors the trunks. The receiver returns incoming calls; calls that the application
    /// does not take are rejected. Returns [`StartError`] if an address cannot be bound, or a trunk does not fit the
    /// listeners.
    pub async fn start(
        settings: SipSettings,
        trunks: Vec<Trunk>,
    ) -> Result<(Self, mpsc::Receiver<Incoming>), StartError> {
        check(&settings, &trunks)?;
        let stop = CancellationToken::new();
        let gate = Gate::new(
            trunks.iter().map(|trunk| trunk.sources.clone()),
            trunks.iter().any(|trunk| trunk.accept_digest),
        );
        let transports = TransportLayer::new(stop.child_token());
        let readable = Arc::clone(&gate);
        transports.set_whitelist(move |address: IpAddr| {
            let readable = readable.reads(address);
            async move { readable }
        });
        let later = listen(&transports, settings.listen, &stop).await?;
        let endpoint = EndpointBuilder::new()
            .with_user_agent(&settings.user_agent)
            .with_transport_layer(transports)
            .with_cancel_token(stop.child_token())
            .with_inspector(Box::new(Challenges))
            .with_transport_inspector(Box::new(GateInspector(Arc::clone(&gate))))
            .with_option(EndpointOption {
                t1: settings.timers.t1,
                t1x64: settings.timers.t1 * 64,
                callid_suffix: Some(CALL_ID_DOMAIN.to_owned()),
                callid_format: CallIdFormat::UuidWithSuffix,
                ..EndpointOption::default()
            })
            .build();
        let (incoming, taken) = mpsc::channel(INCOMING_WAITING);
        let secret =
            ring::hmac::Key::generate(ring::hmac::HMAC_SHA256, &ring::rand::SystemRandom::new())
                .map_err(|_| StartError::Stack("no random numbers".to_owned()))?;
        let shared = Arc::new(Shared {
            layer: Arc::new(DialogLayer::new(Arc::clone(&endpoint.inner))),
            endpoint: Arc::clone(&endpoint.inner),
            gate,
            trunks: trunks.into_iter().map(TrunkState::new).collect(),
            timers: settings.timers,
            tls: settings.tls,
            stop,
            incoming,
            came_in: Mutex::default(),
            secret,
            since: Instant::now(),
        });
        let requests = endpoint
            .incoming_transactions()
            .map_err(|error| StartError::Stack(error.to_string()))?;
        tokio::spawn(async move { endpoint.serve().await }.boxed());
        tokio::spawn(accept(Arc::clone(&shared), requests).boxed());
        // Created before the wait, so that dropping this future stops what already runs.
        let trunks = Self {
            shared: Arc::clone(&shared),
        };
        for address in later {
            opened(address).await?;
        }
        for trunk in 0..shared.trunks.len() {
            tokio::spawn(watch(Arc::clone(&shared), trunk).boxed());
        }
        Ok((trunks, taken))
    }

    /// Calls a number through a trunk. `Ok` means that the request was sent; events report the progress. Returns
    /// [`CallError`] if nothing was sent.
    pub async fn call(&self, trunk: &str, invite: Invite) -> Result<SipCall, CallError> {
        let index = self.shared.trunk(trunk)?;
        outbound::call(&self.shared, index, invite).await
    }

    /// Ends an answered call of a process that died, by the value of [`CallControl::saved`](crate::CallControl::saved)
    /// or [`Incoming::dialog`] in that process. It sends a BYE as if from that process. Succeeds for a call that is
    /// over. Returns [`EndError`] if the carrier did not confirm.
    pub async fn end_dialog(&self, saved: &str) -> Result<(), EndError> {
        saved::end(&self.shared, saved).await
    }

    /// Returns whether a trunk's carrier is known not to answer; always `false` for a trunk without keep-alive. Returns
    /// [`CallError::UnknownTrunk`] if the trunk does not exist.
    pub fn is_down(&self, trunk: &str) -> Result<bool, CallError> {
        let index = self.shared.trunk(trunk)?;
        Ok(self.shared.trunks[index].health.is_down())
    }

    /// Sends an OPTIONS to a trunk's carrier and returns the status of its answer, whatever it is. Returns [`NoAnswer`]
    /// if there is none.
    pub async fn probe(&self, trunk: &str) -> Result<u16, NoAnswer> {
        let index = self.shared.trunk(trunk);
        let index = index.map_err(|_| NoAnswer::UnknownTrunk(trunk.to_owned()))?;
        probe(&self.shared, index).await
    }

    /// Returns the listeners' addresses as others see them.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared
            .listeners()
            .iter()
            .filter_map(|address| address.get_socketaddr().ok())
            .collect()
    }

    /// Returns the number of dialogs in the stack: exactly those of calls in progress.
    #[must_use]
    pub fn dialogs(&self) -> usize {
        self.shared.layer.len()
    }
}

impl Drop for SipTrunks {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

impl fmt::Debug for SipTrunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.shared.trunks.iter().map(|state| &state.trunk))
            .finish()
    }
}

impl TrunkState {
    fn new(trunk: Trunk) -> Self {
        Self {
            trunk,
            route: Route::default(),
            health: Health::default(),
        }
    }

    /// A number's address at the carrier.
    pub(crate) fn uri(&self, number: &str) -> sip::Uri {
        let transport = self.trunk.transport.into();
        uri(number, self.trunk.authority(), transport)
    }

    /// A number's address in our domain.
    pub(crate) fn our_uri(&self, number: &str) -> sip::Uri {
        let domain = self.trunk.from_domain.clone();
        uri(number, domain, sip::Transport::Udp)
    }
}

/// A SIP URI with its transport, unless that is the default.
fn uri(user: &str, place: sip::HostWithPort, transport: sip::Transport) -> sip::Uri {
    let mut uri = sip::Uri {
        scheme: Some(Scheme::Sip),
        auth: Some(sip::Auth {
            user: user.to_owned(),
            password: None,
        }),
        host_with_port: place,
        ..sip::Uri::default()
    };
    if transport != sip::Transport::Udp {
        uri.params.push(sip::Param::Transport(transport));
    }
    uri
}

impl Shared {
    pub(crate) fn trunk(&self, name: &str) -> Result<usize, CallError> {
        self.trunks
            .iter()
            .position(|state| state.trunk.name == name)
            .ok_or_else(|| CallError::UnknownTrunk(name.to_owned()))
    }

    pub(crate) fn listeners(&self) -> Vec<SipAddr> {
        self.endpoint.transport_layer.get_listen_addrs()
    }

    /// Our address for a transport; for a connection that we opened, the first listener's.
    pub(crate) fn our_address(&self, transport: sip::Transport) -> SipAddr {
        let listeners = self.listeners();
        let ours = listeners
            .iter()
            .find(|address| address.r#type == Some(transport))
            .or(listeners.first())
            .cloned()
            .unwrap_or_default();
        SipAddr {
            r#type: Some(transport),
            ..ours
        }
    }

    /// The address for requests within a dialog.
    pub(crate) fn contact(&self, transport: sip::Transport) -> sip::Uri {
        uri("offhook", self.our_address(transport).addr, transport)
    }

    /// Whether a datagram can be sent to this address; connections choose their own local address.
    pub(crate) fn can_send_to(&self, transport: Transport, to: IpAddr) -> bool {
        transport != Transport::Udp
            || self.listeners().iter().any(|listener| {
                listener.r#type == Some(sip::Transport::Udp) && same_family(&listener.addr, to)
            })
    }
}
