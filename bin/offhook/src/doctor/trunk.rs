//! The trunks of `sip`: our own addresses and ports, and whether the carriers answer.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::time::Instant;

use offhook_media::ports::{PortError, Ports};
use offhook_sip::{
    Listen, NoAnswer, SipSettings as Endpoint, SipTrunks, Timers, Transport, TrunkSettings,
};

use super::finding::{Finding, Hop};
use super::network::CARRIER;
use crate::data_dir;
use crate::settings::{RtpSettings, Settings, SipListener, SipSettings};

const LISTENER: Hop = Hop("sip_listener");
const SOUND: Hop = Hop("rtp");

/// Sockets that are opened at once to see how many are free.
const TRIED: u16 = 64;

pub(super) async fn look(settings: &Settings, sip: &SipSettings) -> Vec<Finding> {
    let is_serving = data_dir::read_listen(&settings.data_dir).is_some();
    let listeners = sip.listeners.iter();
    let mut findings: Vec<Finding> = listeners.map(|one| listener(one, is_serving)).collect();
    findings.push(sound(&sip.rtp).await);
    for trunk in &sip.trunks {
        findings.push(carrier(sip, trunk.clone()).await);
    }
    findings.extend(outside(sip).await);
    findings
}

/// Whether an address can be listened to, or is by the service of this data directory.
fn listener(listener: &SipListener, is_serving: bool) -> Finding {
    let (name, address) = (listener.name(), listener.address);
    let opened = match listener.transport {
        Transport::Udp => UdpSocket::bind(address).map(drop),
        Transport::Tcp | Transport::Tls => TcpListener::bind(address).map(drop),
    };
    match opened {
        Ok(()) => LISTENER.good(format!("`sip.{name}`: {address} can be listened on")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_serving => LISTENER.good(format!(
            "`sip.{name}`: {address} is listened on, as the service of this data directory runs"
        )),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => LISTENER.failed(format!(
            "`sip.{name}`: another program has {address}: end it, or choose another port"
        )),
        Err(error) => LISTENER.failed(format!(
            "`sip.{name}`: {address} cannot be listened on ({error}): name an address of this machine"
        )),
    }
}

/// Whether calls' sound has somewhere to go.
async fn sound(rtp: &RtpSettings) -> Finding {
    let ports = Ports::new(rtp.ports);
    let wanted = rtp.ports.count().min(TRIED);
    let mut sockets = Vec::new();
    let mut fault = None;
    while sockets.len() < usize::from(wanted) {
        match ports.open(rtp.address).await {
            Ok(socket) => sockets.push(socket),
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    let (free, address) = (sockets.len(), rtp.address);
    match fault {
        None => SOUND.good(format!(
            "the sound of {free} calls at once could be carried on {address}; the range has ports for {}",
            rtp.ports.count()
        )),
        Some(PortError::NoneFree(_)) if free > 0 => SOUND.warning(format!(
            "on {address} the ports of {free} calls are free, of {}: widen `sip.rtp_ports`, unless calls have the \
             others",
            rtp.ports.count()
        )),
        Some(PortError::NoneFree(_)) => SOUND.failed(format!("on {address} no port of `sip.rtp_ports` is free: widen it")),
        Some(error @ PortError::Socket { .. }) => SOUND.failed(format!(
            "{error}: `sip.rtp_address` is to be an address of this machine"
        )),
    }
}

/// Asks a carrier, from a port of this command's own.
async fn carrier(sip: &SipSettings, settings: TrunkSettings) -> Finding {
    let (name, server) = (settings.name.clone(), settings.server.clone());
    let asked = Instant::now();
    match ask(sip, settings).await {
        Ok(Ok(403)) => CARRIER.warning(format!(
            "trunk `{name}`: {server} refuses this machine (403): put its address on the trunk's access list, if calls \
             fail too"
        )),
        Ok(Ok(status)) => CARRIER.good(format!(
            "trunk `{name}`: {server} answers an OPTIONS with {status}, after {} ms",
            asked.elapsed().as_millis()
        )),
        Ok(Err(NoAnswer::Silence)) => CARRIER.failed(format!(
            "trunk `{name}`: {server} does not answer an OPTIONS within {} s: see that the name and the port are the \
             carrier's, that it lets this machine's address in, and that the firewall lets answers through",
            Timers::default().keep_alive.as_secs()
        )),
        Ok(Err(error)) => CARRIER.failed(format!(
            "trunk `{name}`: {error}: correct `sip.trunks.{name}.server`, or open the way to it"
        )),
        Err(error) => CARRIER.failed(format!("trunk `{name}`: {error:#}")),
    }
}

async fn ask(sip: &SipSettings, settings: TrunkSettings) -> anyhow::Result<Result<u16, NoAnswer>> {
    let name = settings.name.clone();
    let quiet = TrunkSettings {
        keep_alive_seconds: 0,
        ..settings
    };
    let trunk = quiet.check()?;
    let mut listeners = sip.listeners.iter();
    let alike = listeners.find(|one| one.transport == trunk.transport());
    let address = alike.or(sip.listeners.first()).map(|one| one.address.ip());
    let address = SocketAddr::new(address.unwrap_or(sip.rtp.address), 0);
    let transport = match trunk.transport() {
        // What is encrypted goes out by connections of our own.
        Transport::Tls => Transport::Udp,
        plain => plain,
    };
    let endpoint = Endpoint {
        tls: Some(std::sync::Arc::new(offhook_egress::client_config()?)),
        ..Endpoint::new(vec![Listen::on(transport, address)])
    };
    let (trunks, _) = SipTrunks::start(endpoint, vec![trunk]).await?;
    Ok(trunks.probe(&name).await)
}

/// Warns of an address that a carrier outside would be told and could not reach.
async fn outside(sip: &SipSettings) -> Option<Finding> {
    if !is_outside(sip.outgoing()?).await {
        return None;
    }
    let listeners = sip.listeners.iter();
    let mut given = listeners.map(|one| (one.name(), one.address.ip(), one.external.is_some()));
    let sound = ("rtp", sip.rtp.address, sip.rtp.external.is_some());
    let (name, address, _) = given
        .by_ref()
        .chain([sound])
        .find(|(_, address, has_external)| is_inside(*address) && !has_external)?;
    Some(LISTENER.warning(format!(
            "the carrier is outside and would be told {address}, which only this network knows: give what it reaches as \
             `sip.{name}_external`"
        ),
    ))
}

/// Whether a carrier's server is somewhere in the internet.
async fn is_outside(trunk: &TrunkSettings) -> bool {
    let Ok((host, port)) = trunk.clone().check().map(|trunk| trunk.place()) else {
        return false;
    };
    let found = tokio::net::lookup_host((host, port)).await;
    found.is_ok_and(|mut found| found.any(|address| !is_inside(address.ip())))
}

fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let is_carrier_grade = v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64;
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || is_carrier_grade
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use crate::doctor::finding::State;
    use crate::settings::tests::variables;

    use super::*;

    fn settings(server: SocketAddr, more: &[(&str, &str)]) -> Settings {
        let server = server.to_string();
        let mut all = vec![
            ("OFFHOOK_DATA_DIR", "/nowhere"),
            ("OFFHOOK_CALLS__CARRIER", "sip"),
            ("OFFHOOK_SIP__UDP", "127.0.0.1:0"),
            ("OFFHOOK_SIP__TRUNKS__PBX__SERVER", server.as_str()),
        ];
        all.extend(more);
        variables(&all).unwrap()
    }

    async fn findings(settings: &Settings) -> Vec<Finding> {
        look(settings, settings.sip.as_ref().unwrap()).await
    }

    /// A carrier that answers every request with this status.
    async fn answering(status: &'static str) -> SocketAddr {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let mut answer = format!("SIP/2.0 {status}\r\n");
                for name in ["Via", "From", "To", "Call-ID", "CSeq"] {
                    let header = request
                        .lines()
                        .find(|line| line.starts_with(&format!("{name}: ")));
                    answer += &format!("{}\r\n", header.unwrap_or_default().trim_end());
                }
                answer += "Content-Length: 0\r\n\r\n";
                let _ = socket.send_to(answer.as_bytes(), from).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn a_carrier_that_answers_is_good_whatever_it_says() {
        for (status, code, state) in [
            ("200 OK", "200", State::Good),
            ("405 Method Not Allowed", "405", State::Good),
            ("403 Forbidden", "403", State::Warning),
        ] {
            let settings = settings(answering(status).await, &[]);
            let findings = findings(&settings).await;
            let states: Vec<_> = findings.iter().map(|one| (one.hop, one.state)).collect();
            let expected = [
                (LISTENER, State::Good),
                (SOUND, State::Good),
                (CARRIER, state),
            ];
            assert_eq!(states, expected, "{findings:?}");
            let sentence = &findings[2].sentence;
            assert!(
                sentence.starts_with("trunk `pbx`: 127.0.0.1:"),
                "{sentence}"
            );
            assert!(sentence.contains(code), "{sentence}");
        }
    }

    #[tokio::test]
    async fn a_carrier_that_says_nothing_is_a_fault_with_the_remedy() {
        let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(silent.local_addr().unwrap(), &[]);
        let findings = findings(&settings).await;
        let carrier = &findings[2];
        assert_eq!((carrier.hop, carrier.state), (CARRIER, State::Failed));
        let silence = "does not answer an OPTIONS within 5 s: see that";
        assert!(carrier.sentence.contains(silence), "{carrier:?}");
    }

    #[tokio::test]
    async fn addresses_that_cannot_be_had_are_faults_with_the_remedy() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        // The even port of a range of one.
        let even = (0..)
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .find(|socket| socket.local_addr().unwrap().port() % 2 == 0)
            .unwrap();
        let port = even.local_addr().unwrap().port();
        let settings = settings(
            answering("200 OK").await,
            &[
                ("OFFHOOK_SIP__UDP", &address.to_string()),
                ("OFFHOOK_SIP__TCP", "192.0.2.1:5060"),
                ("OFFHOOK_SIP__RTP_PORTS", &format!("{port}-{port}")),
            ],
        );
        let sip = settings.sip.as_ref().unwrap();
        assert_eq!(
            listener(&sip.listeners[0], false).sentence,
            format!("`sip.udp`: another program has {address}: end it, or choose another port")
        );
        assert_eq!(listener(&sip.listeners[0], true).state, State::Good);
        let foreign = listener(&sip.listeners[1], false);
        assert_eq!(foreign.state, State::Failed);
        let refused = "`sip.tcp`: 192.0.2.1:5060 cannot be listened on (";
        assert!(foreign.sentence.starts_with(refused), "{foreign:?}");
        let sound = sound(&sip.rtp).await;
        let full = "on 127.0.0.1 no port of `sip.rtp_ports` is free: widen it";
        assert_eq!(
            (sound.state, sound.sentence.as_str()),
            (State::Failed, full)
        );
    }

    #[tokio::test]
    async fn a_private_address_is_warned_of_where_the_carrier_is_outside() {
        let outside_of = |more: &[(&str, &str)], server: &str| {
            let settings = settings(server.parse().unwrap(), more);
            settings.sip.unwrap()
        };
        let private = ("OFFHOOK_SIP__UDP", "10.0.0.5:5060");
        let warned = outside(&outside_of(&[private], "9.9.9.9:5060"))
            .await
            .unwrap();
        assert_eq!(warned.state, State::Warning);
        assert_eq!(
            warned.sentence,
            "the carrier is outside and would be told 10.0.0.5, which only this network knows: give what it reaches as \
             `sip.udp_external`"
        );
        let external = ("OFFHOOK_SIP__UDP_EXTERNAL", "203.0.113.7");
        for (more, server) in [
            (&[private, external][..], "9.9.9.9:5060"),
            (&[private], "10.0.0.9:5060"),
        ] {
            let warned = outside(&outside_of(more, server)).await;
            assert!(warned.is_none(), "{more:?}");
        }
    }
}
