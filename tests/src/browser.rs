//! A person at a browser: headless Chromium, driven over WebDriver.
//!
//! A person's actions are verbs ([`Browser::open`], [`Browser::click`], [`Browser::fill`], [`Browser::sees`] …) that
//! name controls by their label, as a person does. So these tests cannot use a control without a name either. A text
//! of the page is given in both languages, and searched for in the person's ([`Words`]). Every verb waits for its
//! target, at most [`PATIENCE`], and on failure reports what the person saw instead.

mod checks;
mod driver;
mod hands;
mod words;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fantoccini::Client;
use serde_json::{Value, json};

use self::driver::Driver;
pub use self::words::{Language, Words};
use crate::database::Database;
use crate::speech::has_program;
use crate::wait::{must, text};

/// How long a person waits for something to appear; on a busy machine, the unoptimized binary alone takes some of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The window, in CSS pixels.
const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;

/// Whether a browser and its driver are installed.
///
/// # Panics
/// In CI, if one is missing.
#[must_use]
pub fn can_browse() -> bool {
    has_program("chromium", "chromium") && has_program("chromedriver", "chromium-driver")
}

/// Skips the test with a message if there is no browser; fails in CI.
#[macro_export]
macro_rules! needs_browser {
    () => {
        if !$crate::can_browse() {
            return;
        }
    };
}

/// A person's browser settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// The preferred language.
    language: Language,
    /// An audio file for the microphone, which pages may use without a prompt.
    hears: Option<&'static Path>,
}

impl Person {
    /// Reads English.
    #[must_use]
    pub const fn english() -> Self {
        Self {
            language: Language::English,
            hears: None,
        }
    }

    /// Reads Mexican Spanish.
    #[must_use]
    pub const fn spanish() -> Self {
        Self {
            language: Language::Spanish,
            hears: None,
        }
    }

    /// Reads English if the service uses SQLite, and Spanish on PostgreSQL. So a test on both databases covers both
    /// languages without more runs.
    #[must_use]
    pub const fn on(database: &Database) -> Self {
        match database {
            Database::Sqlite => Self::english(),
            Database::Postgres(_) => Self::spanish(),
        }
    }

    /// Plays this WAV file repeatedly into a microphone that every page may use. However long a page takes to listen,
    /// it hears the whole file.
    #[must_use]
    pub fn speaking(mut self, file: PathBuf) -> Self {
        self.hears = Some(Box::leak(file.into_boxed_path()));
        self
    }
}

/// A browser with one window, its own cookies and an empty profile; dropping it closes it.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    base: String,
    language: Language,
    driver: Arc<Driver>,
}

impl Browser {
    /// Opens a browser for this server.
    ///
    /// # Panics
    /// If chromedriver or Chromium does not start.
    pub async fn of(person: Person, server: SocketAddr) -> Self {
        let driver = Arc::new(Driver::start().await);
        Self::by(driver, person, format!("http://{server}")).await
    }

    /// Opens another browser that shares nothing with this one.
    ///
    /// # Panics
    /// If Chromium does not start.
    pub async fn another(&self, person: Person) -> Self {
        Self::by(self.driver.clone(), person, self.base.clone()).await
    }

    async fn by(driver: Arc<Driver>, person: Person, base: String) -> Self {
        let browser = Self {
            client: driver.browser(person).await,
            base,
            language: person.language,
            driver,
        };
        browser.resize(WIDTH, HEIGHT).await;
        browser
    }

    /// The words in the person's language.
    pub fn words<'a>(&self, words: &'a impl Words) -> &'a str {
        words.in_language(self.language)
    }

    /// Opens a path of the server, or an absolute URL.
    pub async fn open(&self, target: &str) {
        let url = if target.starts_with("http") {
            target.to_owned()
        } else {
            format!("{}{target}", self.base)
        };
        must(&url, self.client.goto(&url).await);
    }

    pub async fn reload(&self) {
        must("a reload", self.client.refresh().await);
    }

    pub async fn back(&self) {
        must("a step back", self.client.back().await);
    }

    /// The full URL of the page.
    pub async fn address(&self) -> String {
        must("the address", self.client.current_url().await).to_string()
    }

    /// The path and query of the page.
    pub async fn path(&self) -> String {
        let url = must("the address", self.client.current_url().await);
        match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        }
    }

    pub async fn title(&self) -> String {
        must("the title", self.client.title().await)
    }

    /// All visible text of the page, with single spaces.
    pub async fn reads(&self) -> String {
        let words = "const own = document.body ? [document.body] : [];
            for (const e of document.querySelectorAll('*')) if (e.shadowRoot) own.push(...e.shadowRoot.children);
            return own.filter(e => e.checkVisibility()).map(e => e.innerText).join(' ')";
        let words = self.js(words, vec![]).await;
        words
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The value of a script that runs as in the developer tools, without the page's policy.
    ///
    /// # Panics
    /// If it throws.
    pub async fn js(&self, script: &str, arguments: Vec<Value>) -> Value {
        must(script, self.client.execute(script, arguments).await)
    }

    /// The value that a script passes to its last argument, a callback.
    ///
    /// # Panics
    /// If it throws.
    pub async fn js_later(&self, script: &str, arguments: Vec<Value>) -> Value {
        must(script, self.client.execute_async(script, arguments).await)
    }

    /// The page's cookies with all their attributes.
    pub async fn cookies(&self) -> Vec<Value> {
        let cookies = self.tools("Network.getCookies", json!({})).await;
        cookies["cookies"].as_array().cloned().unwrap_or_default()
    }

    pub async fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.cookies().await;
        let found = cookies.iter().find(|cookie| cookie["name"] == name)?;
        Some(text(&found["value"]).to_owned())
    }

    /// Sets a cookie for this path and below; no script can read it.
    pub async fn plant(&self, name: &str, value: &str, path: &str) {
        let url = format!("{}{path}", self.base);
        let cookie =
            json!({"name": name, "value": value, "url": url, "path": path, "httpOnly": true});
        self.tools("Network.setCookie", cookie).await;
    }

    /// Deletes every cookie, as their expiry would.
    pub async fn forget(&self) {
        self.tools("Network.clearBrowserCookies", json!({})).await;
    }

    /// Sets the page size, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Sets the preferred color scheme.
    pub async fn dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        // A picture of a color on its way to another shows neither.
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.tools("Emulation.setEmulatedMedia", json!({"features": features}))
            .await;
    }

    /// Gives the browser an authenticator that keeps passkeys and agrees to everything.
    pub async fn keeps_passkeys(&self) {
        let command = driver::Extension {
            path: "webauthn/authenticator",
            body: json!({
                "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
                "hasUserVerification": true, "isUserVerified": true, "isUserConsenting": true,
            }),
        };
        must("an authenticator", self.client.issue_cmd(command).await);
    }

    /// From the next page on, the browser offers no passkey where an address is typed; its authenticator would accept each
    /// offer at once.
    pub async fn suggests_no_passkeys(&self) {
        let script = "PublicKeyCredential.isConditionalMediationAvailable = async () => false";
        let command = "Page.addScriptToEvaluateOnNewDocument";
        self.tools(command, json!({"source": script})).await;
    }

    /// Sends a command of the developer tools protocol.
    async fn tools(&self, command: &str, parameters: Value) -> Value {
        let command = driver::Extension {
            path: "goog/cdp/execute",
            body: json!({"cmd": command, "params": parameters}),
        };
        must("a developer tool", self.client.issue_cmd(command).await)
    }
}
