//! The source address filter. Datagrams and connections from unknown addresses are dropped unanswered, and unread
//! unless a trunk accepts digest: scanners find an open SIP port within minutes.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use ipnet::IpNet;
use parking_lot::Mutex;
use rsipstack::sip::prelude::HeadersExt;
use rsipstack::sip::{HasHeaders, Header, Host, Method, Request, SipMessage, typed};
use rsipstack::transaction::endpoint::TransportEventInspector;
use rsipstack::transport::TransportEvent;

/// Addresses kept per server name, newest first; names of large carriers rotate through many.
const REMEMBERED: usize = 64;

/// The addresses that may send to us.
pub(crate) struct Gate {
    trunks: Vec<Neighbour>,
    /// A trunk accepts calls from anywhere by digest.
    open: bool,
    /// Addresses of calls in progress besides the trunks' own, with the number of calls for each.
    guests: Mutex<HashMap<IpAddr, usize>>,
}

struct Neighbour {
    sources: Vec<IpNet>,
    server: Mutex<Vec<IpAddr>>,
}

impl Gate {
    pub(crate) fn new(trunks: impl IntoIterator<Item = Vec<IpNet>>, open: bool) -> Arc<Self> {
        let trunks = trunks
            .into_iter()
            .map(|sources| Neighbour {
                sources,
                server: Mutex::default(),
            })
            .collect();
        Arc::new(Self {
            trunks,
            open,
            guests: Mutex::default(),
        })
    }

    /// Adds a current address of a trunk's server.
    pub(crate) fn add_address(&self, trunk: usize, address: IpAddr) {
        let mut server = self.trunks[trunk].server.lock();
        let address = address.to_canonical();
        server.retain(|known| *known != address);
        server.insert(0, address);
        server.truncate(REMEMBERED);
    }

    /// The trunk that an address belongs to.
    pub(crate) fn trunk_of(&self, address: IpAddr) -> Option<usize> {
        let address = address.to_canonical();
        self.trunks.iter().position(|trunk| {
            trunk.sources.iter().any(|net| net.contains(&address))
                || trunk.server.lock().contains(&address)
        })
    }

    /// Whether an address belongs to a trunk, or to a call in progress.
    fn is_known(&self, address: IpAddr) -> bool {
        self.trunk_of(address).is_some() || self.guests.lock().contains_key(&address.to_canonical())
    }

    /// Whether a trunk accepts calls from anywhere by digest.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Whether messages from an address are parsed.
    pub(crate) fn reads(&self, address: IpAddr) -> bool {
        self.open || self.is_known(address)
    }

    /// Admits an address for the duration of a call.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Guest {
        let address = address.to_canonical();
        *self.guests.lock().entry(address).or_default() += 1;
        Guest {
            gate: Arc::clone(self),
            address,
        }
    }

    /// Admits the addresses in a carrier's message that the call continues with: its contact and the proxies before it.
    /// A carrier's media gateways send requests themselves once the call is up.
    pub(crate) fn admit_route(self: &Arc<Self>, message: &impl HasHeaders) -> Vec<Guest> {
        message
            .headers()
            .iter()
            .flat_map(addresses)
            .map(|address| self.admit(address))
            .collect()
    }

    /// Whether a message is handled. A call that needs digest authentication is decided later.
    fn passes(&self, message: &SipMessage, from: IpAddr) -> bool {
        match message {
            SipMessage::Response(_) => true,
            SipMessage::Request(request) => {
                self.is_known(from)
                    || (self.open && (request.method == Method::Ack || opens_dialog(request)))
            }
        }
    }
}

/// The IP addresses in a header's values; host names are not resolved.
fn addresses(header: &Header) -> Vec<IpAddr> {
    let hosts: Vec<Host> = match header {
        Header::Contact(contact) => {
            typed::Contact::parse_header_list(contact.value()).map(|contacts| {
                contacts
                    .iter()
                    .map(|each| each.uri.host().clone())
                    .collect()
            })
        }
        Header::RecordRoute(route) => typed::RecordRoute::parse_header_list(route.value())
            .map(|routes| routes.iter().map(|each| each.uri.host().clone()).collect()),
        _ => return Vec::new(),
    }
    .unwrap_or_default();
    hosts
        .into_iter()
        .filter_map(|host| match host {
            Host::IpAddr(address) => Some(address),
            Host::Domain(_) => None,
        })
        .collect()
}

/// Whether a request starts a call.
pub(crate) fn opens_dialog(request: &Request) -> bool {
    request.method == Method::Invite && !has_to_tag(request)
}

/// Whether a request belongs to a dialog.
pub(crate) fn has_to_tag(request: &Request) -> bool {
    matches!(request.to_header().map(|to| to.tag()), Ok(Ok(Some(tag))) if !tag.value().is_empty())
}

/// The IP address of a message's source.
pub(crate) fn ip_of(from: &rsipstack::transport::SipAddr) -> Option<IpAddr> {
    match from.addr.host {
        Host::IpAddr(address) => Some(address),
        Host::Domain(_) => None,
    }
}

/// Admits an address while it lives.
pub(crate) struct Guest {
    gate: Arc<Gate>,
    address: IpAddr,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut guests = self.gate.guests.lock();
        if let Some(calls) = guests.get_mut(&self.address) {
            *calls -= 1;
            if *calls == 0 {
                guests.remove(&self.address);
            }
        }
    }
}

/// Applies the gate after the transports, before any answer is sent.
pub(crate) struct GateInspector(pub(crate) Arc<Gate>);

#[async_trait]
impl TransportEventInspector for GateInspector {
    async fn handle(&self, event: TransportEvent) -> Option<TransportEvent> {
        match &event {
            TransportEvent::Incoming(message, _, from) => {
                let from = ip_of(from)?;
                self.0.passes(message, from).then_some(event)
            }
            TransportEvent::New(_) | TransportEvent::Closed(_) => Some(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRIER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));
    const GATEWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));

    fn request(line: &str, to_tag: &str) -> SipMessage {
        let method = line.split(' ').next().unwrap();
        SipMessage::try_from(format!(
            "{line} SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
             To: <sip:b@h>{to_tag}\r\nCall-ID: 1\r\nCSeq: 1 {method}\r\nContent-Length: 0\r\n\r\n"
        ))
        .unwrap()
    }

    #[test]
    fn messages_of_trunks_pass_and_others_do_not() {
        let gate = Gate::new([vec!["192.0.2.0/24".parse().unwrap()], Vec::new()], false);
        gate.add_address(1, "::ffff:203.0.113.9".parse().unwrap());
        assert_eq!(gate.trunk_of(CARRIER), Some(0));
        assert_eq!(gate.trunk_of("203.0.113.9".parse().unwrap()), Some(1));
        assert!(gate.reads(CARRIER) && !gate.reads(GATEWAY));
        assert!(!gate.passes(&request("OPTIONS sip:b@h", ""), GATEWAY));
        assert!(!gate.passes(&request("INVITE sip:b@h", ""), GATEWAY));
    }

    #[test]
    fn a_calls_destination_is_accepted_until_the_call_ends() {
        let gate = Gate::new([Vec::new()], false);
        let first = gate.admit(GATEWAY);
        let second = gate.admit(GATEWAY);
        assert!(gate.passes(&request("BYE sip:b@h", ";tag=2"), GATEWAY));
        drop(first);
        assert!(gate.reads(GATEWAY));
        drop(second);
        assert!(!gate.reads(GATEWAY));
        assert_eq!(gate.trunk_of(GATEWAY), None, "a guest is no trunk");
    }

    #[test]
    fn with_digest_authentication_a_stranger_may_only_start_a_call() {
        let gate = Gate::new([Vec::new()], true);
        for (line, to_tag, passes) in [
            ("INVITE sip:b@h", "", true),
            ("ACK sip:b@h", ";tag=2", true),
            ("INVITE sip:b@h", ";tag=2", false),
            ("CANCEL sip:b@h", "", false),
            ("OPTIONS sip:b@h", "", false),
            ("BYE sip:b@h", ";tag=2", false),
            ("REGISTER sip:h", "", false),
        ] {
            assert_eq!(
                gate.passes(&request(line, to_tag), GATEWAY),
                passes,
                "{line}"
            );
        }
    }
}
