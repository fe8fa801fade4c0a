//! The network as a separate process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_carriers::{RemoteSimulator, Simulator, SimulatorSettings, UrlError, serve_simulator};
use offhook_engine::ports::{Carrier, DialError, LegEvent};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::it::calls::{FRIEND, TokioClock, call, handle, number, persona, request};

const SPEED: f64 = 40.0;

pub(crate) async fn start(log: Option<&Path>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = SimulatorSettings {
        speed: SPEED,
        dial_log: log.map(Path::to_owned),
        heard_log: None,
        clock: Arc::new(TokioClock::new()),
    };
    let server = tokio::spawn(async move {
        let served = serve_simulator(listener, settings).await;
        panic!("the simulator stopped: {served:?}");
    });
    (format!("http://{address}"), server)
}

pub(crate) fn client(url: &str) -> RemoteSimulator {
    RemoteSimulator::new(url).unwrap()
}

/// The live calls at the simulator, read as any other client would.
async fn live(url: &str) -> String {
    use tokio::io::AsyncWriteExt;
    let address = url.trim_start_matches("http://");
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = "GET /calls HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    socket.write_all(request.as_bytes()).await.unwrap();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
        .split_once("\r\n\r\n")
        .map_or(String::new(), |(_, body)| body.to_owned())
}

pub(crate) async fn until(url: &str, wanted: &str) {
    let waiting = async {
        while live(url).await != wanted {
            tokio::task::yield_now().await;
        }
    };
    let waited = timeout(Duration::from_secs(20), waiting).await;
    assert!(waited.is_ok(), "the live calls never became {wanted}");
}

pub(crate) const NONE_LIVE: &str = "{\"live\":[]}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_of_its_own_process_behaves_as_one_in_process() {
    let (url, _server) = start(None).await;
    let remote: Arc<dyn Carrier> = Arc::new(client(&url));
    let local: Arc<dyn Carrier> = Arc::new(Simulator::new(SPEED));
    let numbers = [
        FRIEND,
        "+15005550001",
        "+15005550002",
        "+15005550003",
        "+15005550004",
        "+15005550005",
        "+15005550006",
        "+15005550007",
        "+15005550009",
        "+15005550010",
    ];
    let calls = numbers.iter().zip(1..).map(|(to, n)| {
        let (remote, local) = (Arc::clone(&remote), Arc::clone(&local));
        async move {
            let far = call(&remote, n, to, persona()).await;
            let near = call(&local, n, to, persona()).await;
            (to, far, near)
        }
    });
    for (to, mut far, mut near) in join_all(calls).await {
        // How far the agent got before the cut is a matter of milliseconds.
        for line in far.script.iter_mut().chain(&mut near.script) {
            if line.ends_with("--") {
                line.truncate(6);
            }
        }
        assert_eq!(far, near, "{to}");
    }
    assert_eq!(remote.shared_number(), Some(number("+15005550100")));
    until(&url, NONE_LIVE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_dial_is_in_the_log_before_it_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dials.jsonl");
    let (url, _server) = start(Some(&path)).await;
    let remote = client(&url);
    for (n, dialed) in [(1, 1), (1, 2), (2, 3)] {
        let leg = remote.dial(request(n, FRIEND)).await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), dialed);
        let last = lines[dialed - 1].as_object().unwrap();
        let members: Vec<&str> = last.keys().map(String::as_str).collect();
        assert_eq!(members, ["at", "handle", "to", "node"]);
        assert_eq!(last["handle"], handle(n).to_string());
        assert_eq!(last["to"], FRIEND);
        assert_eq!(leg.speed.to_bits(), SPEED.to_bits());
    }
    let refused = remote.dial(request(3, "+15005550007")).await;
    assert_eq!(refused.err(), Some(DialError::NotConnected));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    until(&url, NONE_LIVE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_client_died_goes_on_until_it_is_hung_up_by_its_handle() {
    let (url, _server) = start(None).await;
    // A client that dies sends nothing: its connection closes in the middle of the events.
    let died = tokio::spawn({
        let address = url.trim_start_matches("http://").to_owned();
        async move {
            use tokio::io::AsyncWriteExt;
            let body = format!(
                r#"{{"handle":"{}","from":"+15005550100","to":"{FRIEND}","node":"{}"}}"#,
                handle(1),
                offhook_domain::NodeId::nil()
            );
            let head = format!(
                "POST /dial HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
            socket
                .write_all(format!("{head}{body}").as_bytes())
                .await
                .unwrap();
            let mut first = [0; 64];
            assert!(socket.read(&mut first).await.unwrap() > 0);
        }
    });
    died.await.unwrap();
    let orphan = format!("{{\"live\":[\"{}\"]}}", handle(1));
    sleep(Duration::from_millis(300)).await;
    assert_eq!(live(&url).await, orphan, "it rings, is answered and waits");

    let remote = client(&url);
    remote.hang_up_orphan(handle(1)).await.unwrap();
    until(&url, NONE_LIVE).await;
    remote.hang_up_orphan(handle(1)).await.unwrap();
    remote.hang_up_orphan(handle(7)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_leg_hangs_up_at_the_simulator() {
    let (url, _server) = start(None).await;
    let mut leg = client(&url).dial(request(1, FRIEND)).await.unwrap();
    assert_eq!(leg.events.recv().await, Some(LegEvent::Ringing));
    drop(leg);
    until(&url, NONE_LIVE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_simulator_that_is_not_there_is_down_until_it_is_back() {
    let (url, server) = start(None).await;
    server.abort();
    let _ = server.await;
    let remote = client(&url);
    assert!(!remote.is_down(), "nobody asked yet");
    let refused = remote.dial(request(1, FRIEND)).await;
    assert_eq!(refused.err(), Some(DialError::NotConnected));
    assert!(remote.is_down());

    let listener = TcpListener::bind(url.trim_start_matches("http://"))
        .await
        .unwrap();
    let settings = SimulatorSettings {
        speed: SPEED,
        dial_log: None,
        heard_log: None,
        clock: Arc::new(TokioClock::new()),
    };
    let _server = tokio::spawn(serve_simulator(listener, settings));
    let recovered = timeout(Duration::from_secs(10), async {
        while remote.is_down() {
            sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(recovered.await.is_ok());
    assert!(remote.dial(request(2, FRIEND)).await.is_ok());
}

#[tokio::test]
async fn a_request_that_left_without_an_answer_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).await;
        }
    });
    let refused = client(&url).dial(request(1, FRIEND)).await;
    assert_eq!(refused.err(), Some(DialError::Unknown));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_work_over_loopback() {
    let (url, _server) = start(None).await;
    let remote: Arc<dyn Carrier> = Arc::new(client(&url));
    let calls = (0..1_000).map(|n| {
        let remote = Arc::clone(&remote);
        tokio::spawn(async move { call(&remote, n, FRIEND, persona()).await })
    });
    for told in join_all(calls.collect::<Vec<_>>()).await {
        let told = told.unwrap();
        // On a busy machine, at this speed, the customer may speak first.
        for words in ["A: Hello", "U: Goodbye!"] {
            let spoken = told.script.iter().any(|line| line.starts_with(words));
            assert!(spoken, "{words}: {told:?}");
        }
    }
    until(&url, NONE_LIVE).await;
}

#[test]
fn only_a_plain_http_url_is_a_simulators() {
    for url in ["http://127.0.0.1:8090", "http://localhost:1/"] {
        assert!(RemoteSimulator::new(url).is_ok(), "{url}");
    }
    for url in [
        "",
        "127.0.0.1:8090",
        "https://127.0.0.1",
        "http://x/path",
        "http://x?q",
    ] {
        assert_eq!(RemoteSimulator::new(url).err(), Some(UrlError), "{url}");
    }
}
