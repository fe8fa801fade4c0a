//! The chromedriver process and its browsers.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use hyper::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use offhook_testkit::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::Person;
use crate::wait::{eventually, must};

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A running chromedriver; dropping it kills it and its browsers.
#[derive(Debug)]
pub(super) struct Driver {
    url: String,
    folder: TempDir,
    opened: AtomicUsize,
    // Dropped last; `Drop` needs it.
    process: Child,
}

impl Driver {
    pub(super) async fn start() -> Self {
        let folder = must("a folder", tempfile::tempdir());
        let port = free_port();
        // In the test's own process group, so that killing a hanging test also kills this.
        let process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let driver = Self {
            url: format!("http://127.0.0.1:{port}"),
            folder,
            opened: AtomicUsize::new(0),
            process: must("chromedriver", process),
        };
        eventually("a chromedriver that listens", START, || async {
            let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            socket.is_ok().then_some(())
        })
        .await;
        driver
    }

    pub(super) async fn browser(&self, person: Person) -> Client {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let profile = self.folder.path().join(format!("profile-{number}"));
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities(person, &profile));
        must("a browser", builder.connect(&self.url).await)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.start_kill();
        // A browser outlives its driver. Its command line names its profile, which no other browser has.
        let folder = self.folder.path().display().to_string();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let name = process.file_name();
            if String::from_utf8_lossy(&command).contains(&folder) {
                let kill = std::process::Command::new("kill")
                    .arg("-KILL")
                    .arg(name)
                    .stderr(Stdio::null())
                    .status();
                let _ = kill;
            }
        }
    }
}

fn capabilities(person: Person, profile: &Path) -> Capabilities {
    let mut arguments = vec![
        "--headless=new".to_owned(),
        format!("--user-data-dir={}", profile.display()),
        // The browser ends when its driver does.
        "--remote-debugging-pipe".to_owned(),
        "--window-size=1280,800".to_owned(),
        "--hide-scrollbars".to_owned(),
        "--force-color-profile=srgb".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--no-first-run".to_owned(),
        "--no-default-browser-check".to_owned(),
        // Only this machine resolves, so a page that contacts another host shows an error in the log.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost".to_owned(),
        "--autoplay-policy=no-user-gesture-required".to_owned(),
    ];
    // Chromium's sandbox does not start as root.
    if std::fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0)
    {
        arguments.push("--no-sandbox".to_owned());
    }
    if let Some(file) = person.hears {
        arguments.push("--use-fake-ui-for-media-stream".to_owned());
        arguments.push("--use-fake-device-for-media-stream".to_owned());
        arguments.push(format!(
            "--use-file-for-fake-audio-capture={}",
            file.display()
        ));
    }
    let wanted = json!({
        "browserName": "chrome",
        // A dialog stays open, so that the test sees it.
        "unhandledPromptBehavior": "ignore",
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {
            "args": arguments,
            "prefs": {
                "intl.accept_languages": person.language.wished(),
                "credentials_enable_service": false,
                "profile.password_manager_enabled": false,
            },
        },
    });
    match wanted {
        Value::Object(wanted) => wanted,
        _ => Capabilities::new(),
    }
}

/// A nonstandard command of chromedriver, sent by POST below the session.
#[derive(Debug)]
pub(super) struct Extension {
    /// The rest of the path.
    pub(super) path: &'static str,
    /// The request's body.
    pub(super) body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.path
        ))
    }

    fn method_and_body(&self, _url: &url::Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
