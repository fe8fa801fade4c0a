//! baresip, a real SIP user agent, as a telephone that answers automatically and plays a file.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Stdio;
use std::time::Duration;

use offhook_testkit::free_port;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::speech::wav;
use crate::wait::{eventually, must};

/// How long a start may take.
const START: Duration = Duration::from_secs(30);

/// The directory of its modules, by distribution.
const MODULES: [&str; 2] = [
    "/usr/lib/baresip/modules",
    "/usr/lib/x86_64-linux-gnu/baresip/modules",
];

/// A running baresip; dropping it kills the process.
pub struct Baresip {
    _process: Child,
    _folder: TempDir,
    address: SocketAddr,
}

impl Baresip {
    /// Answers calls to a number, and plays these samples at 8 kHz to each.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(number: &str, says: &[i16]) -> Self {
        let folder = must("a folder", tempfile::tempdir());
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_ports()));
        let write = |name: &str, content: &[u8]| {
            must(name, std::fs::write(folder.path().join(name), content));
        };
        write("says.wav", &wav(says, 8_000));
        let says = folder.path().join("says.wav");
        let modules = MODULES
            .iter()
            .find(|path| std::path::Path::new(path).is_dir());
        let config = format!(
            "poll_method epoll\nsip_listen {address}\naudio_source aufile,{}\naudio_player aubridge,nobody\n\
             ausrc_srate 8000\nausrc_channels 1\nauplay_srate 8000\nauplay_channels 1\n\
             module_path {}\nmodule g711.so\nmodule aufile.so\nmodule aubridge.so\nmodule_app account.so\n\
             module_app menu.so\n",
            says.display(),
            modules.unwrap_or(&MODULES[0]),
        );
        write("config", config.as_bytes());
        let account = format!(
            "<sip:{number}@{address};transport=udp>;regint=0;answermode=auto;audio_codecs=pcmu\n"
        );
        write("accounts", account.as_bytes());
        write("contacts", b"");
        let process = Command::new("baresip")
            .arg("-f")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let baresip = Self {
            _process: must("baresip", process),
            _folder: folder,
            address,
        };
        let taken = format!(":{:04X} ", address.port());
        eventually("a baresip that listens", START, || async {
            let table = std::fs::read_to_string("/proc/net/udp").unwrap_or_default();
            table.contains(&taken).then_some(())
        })
        .await;
        baresip
    }

    /// Its address, for a trunk's `server`.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A free port whose successor is also free: baresip listens for TLS there, and exits if it cannot.
fn free_ports() -> u16 {
    for _ in 0..100 {
        let port = free_port();
        let next = port.saturating_add(1);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, next)).is_ok() {
            return port;
        }
    }
    panic!("no two ports in a row are free");
}
