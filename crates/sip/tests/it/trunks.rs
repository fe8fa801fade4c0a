//! Trunks: whether they respond, TLS, and conflicting settings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use offhook_sip::{Listen, NoAnswer, SipSettings, SipTrunks, Timers, Transport, TrunkSettings};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{sleep, timeout};

use crate::it::peer::Peer;
use crate::it::support::{ANSWER, PATIENCE, Stage, invite, rest, told, trunk};

async fn becomes(stage: &Stage, down: bool) {
    let seen = async {
        while stage.trunks.is_down("carrier") != Ok(down) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, seen).await.expect("the trunk changes");
}

#[tokio::test]
async fn a_carrier_that_does_not_answer_is_down_till_it_does() {
    let carrier = Peer::on("127.0.0.1").await;
    let mut watched = trunk(carrier.address);
    watched.keep_alive_seconds = 5;
    let timers = Timers {
        keep_alive: Duration::from_millis(300),
        ..Timers::default()
    };
    let stage = Stage::set(watched, timers).await;
    assert_eq!(
        stage.trunks.is_down("carrier"),
        Ok(false),
        "nobody knows yet"
    );
    becomes(&stage, true).await;
    while !carrier.hears_nothing(Duration::from_millis(100)).await {}
    let (asked, from) = carrier.receive("OPTIONS").await;
    // Any response means that the trunk is up.
    carrier.reply(from, &asked, "404 Not Found").await;
    becomes(&stage, false).await;
}

#[tokio::test]
async fn a_carrier_is_asked_for_a_sign_of_life_by_name() {
    let carrier = Peer::on("127.0.0.1").await;
    let timers = Timers {
        keep_alive: Duration::from_millis(300),
        ..Timers::default()
    };
    let stage = Stage::set(trunk(carrier.address), timers).await;
    let asking = stage.trunks.probe("carrier");
    let answering = async {
        let (asked, from) = carrier.receive("OPTIONS").await;
        let answer = carrier.answer(&asked, "405 Method Not Allowed", "", "");
        carrier.send(from, answer).await;
    };
    let (status, ()) = tokio::join!(asking, answering);
    assert_eq!(status, Ok(405));
    assert_eq!(stage.trunks.probe("carrier").await, Err(NoAnswer::Silence));
    let other = stage.trunks.probe("other").await.unwrap_err();
    assert_eq!(other.to_string(), "there is no trunk `other`");
}

/// A certificate authority, its certificate for 127.0.0.1, and the key, all PEM.
fn certificate() -> (String, String, String) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let issuer = authority.self_signed(&authority_key).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let signed = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &rcgen::Issuer::new(authority, authority_key))
        .unwrap();
    (issuer.pem(), signed.pem(), key.serialize_pem())
}

fn trusting(authority: Option<&str>) -> Arc<ClientConfig> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = RootCertStore::empty();
    if let Some(authority) = authority {
        roots
            .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
            .unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn tls_trunk(server: SocketAddr) -> TrunkSettings {
    let mut tls = trunk(server);
    tls.transport = Some("tls".to_owned());
    tls
}

/// An endpoint that calls through `trunk`, and trusts this authority.
async fn caller(trunk: TrunkSettings, authority: Option<&str>) -> SipTrunks {
    let listen = vec![Listen::on(Transport::Udp, "127.0.0.1:0".parse().unwrap())];
    let settings = SipSettings {
        tls: Some(trusting(authority)),
        ..SipSettings::new(listen)
    };
    let trunk = trunk.check().unwrap();
    SipTrunks::start(settings, vec![trunk]).await.unwrap().0
}

#[tokio::test]
async fn a_call_over_tls_is_the_same_call_if_the_certificate_is_good() {
    let (authority, chain, key) = certificate();
    let mut secured = Listen::on(Transport::Tls, "127.0.0.1:0".parse().unwrap());
    secured.certificate = Some((chain.into_bytes(), key.into_bytes()));
    let datagrams = Listen::on(Transport::Udp, "127.0.0.1:0".parse().unwrap());
    let neighbours = trunk("127.0.0.1:9".parse().unwrap()).check().unwrap();
    let (callee, mut incoming) =
        SipTrunks::start(SipSettings::new(vec![secured, datagrams]), vec![neighbours])
            .await
            .unwrap();
    let server = callee.addresses()[1];

    let suspicious = caller(tls_trunk(server), None).await;
    let refused = suspicious.call("carrier", invite(1)).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "trunk `carrier`: the carrier's certificate is not to be trusted, or it speaks no TLS"
    );

    let trusting = caller(tls_trunk(server), Some(&authority)).await;
    for ended_by_caller in [true, false] {
        let mut out = trusting.call("carrier", invite(2)).await.unwrap();
        let incoming = timeout(PATIENCE, incoming.recv()).await.unwrap().unwrap();
        let mut taken = incoming.answer(ANSWER.to_owned());
        assert_eq!(told(&mut out).await, "Answered with SDP");
        assert_eq!(told(&mut taken).await, "Answered");
        let (ends, hears) = if ended_by_caller {
            (&mut out, &mut taken)
        } else {
            (&mut taken, &mut out)
        };
        ends.control().hang_up().await;
        assert_eq!(rest(hears).await, ["Hangup"]);
        assert_eq!(rest(ends).await, [""; 0]);
    }
    let emptied = async {
        while callee.dialogs() + trusting.dialogs() + suspicious.dialogs() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, emptied)
        .await
        .expect("dialogs are left in the stack");
}

#[tokio::test]
async fn trunks_go_with_listeners() {
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let udp = || vec![Listen::on(Transport::Udp, local)];
    let plain = || trunk("127.0.0.1:9".parse().unwrap());
    let mut tcp = plain();
    tcp.transport = Some("tcp".to_owned());
    for (listen, trunks, sentence) in [
        (
            Vec::new(),
            vec![plain()],
            "`listen`: name at least one address",
        ),
        (
            udp(),
            vec![plain(), plain()],
            "`name`: two trunks are called `carrier`",
        ),
        (
            udp(),
            vec![tcp],
            "`transport` of trunk `carrier`: `listen` has no `tcp` address to be called back at",
        ),
        (
            udp(),
            vec![tls_trunk(local_port())],
            "`transport` of trunk `carrier`: TLS is not set up",
        ),
        (
            vec![Listen::on(Transport::Tcp, local)],
            vec![plain()],
            "`transport` of trunk `carrier`: `listen` has no `udp` address to send from",
        ),
    ] {
        let trunks = trunks
            .into_iter()
            .map(|trunk| trunk.check().unwrap())
            .collect();
        let error = SipTrunks::start(SipSettings::new(listen), trunks)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), sentence);
    }
}

fn local_port() -> SocketAddr {
    "127.0.0.1:9".parse().unwrap()
}

/// An address that is taken on both transports. A port that is free for one need not be free for the other.
fn both_taken() -> (std::net::UdpSocket, std::net::TcpListener, SocketAddr) {
    let mut tried = Vec::new();
    loop {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        match std::net::UdpSocket::bind(address) {
            Ok(udp) => return (udp, tcp, address),
            // Held, so that the next port differs.
            Err(error) if tried.len() < 100 => tried.push((tcp, error)),
            Err(error) => panic!("no port is free for both: {error}"),
        }
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    for transport in [Transport::Udp, Transport::Tcp] {
        let (_udp, _tcp, taken) = both_taken();
        let settings = SipSettings::new(vec![Listen::on(transport, taken)]);
        let error = SipTrunks::start(settings, Vec::new()).await.unwrap_err();
        let sentence = error.to_string();
        assert!(
            sentence.starts_with(&format!("`listen`: {taken} cannot be listened to: ")),
            "{sentence}"
        );
    }
}
