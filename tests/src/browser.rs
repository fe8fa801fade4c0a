//! A person at a browser: headless Chromium, driven over WebDriver.
//!
//! What a person does is a verb ([`Browser::open`], [`Browser::click`], [`Browser::fill`], [`Browser::sees`] …) and
//! names what is on the screen by its label, as a person does: a control without a name cannot be used by these tests
//! either. A text of the page is said in both languages, and looked for in the person's ([`Words`]). Every verb waits for
//! what it needs, at most [`PATIENCE`], and fails with what the person saw instead.

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

/// How long a person waits for something to appear; on a busy machine, the unoptimised binary alone takes some of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// The window, in CSS pixels.
const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;

/// Whether a browser and its driver are there; in CI they must be.
///
/// # Panics
/// In CI, if one is missing.
#[must_use]
pub fn can_browse() -> bool {
    has_program("chromium", "chromium") && has_program("chromedriver", "chromium-driver")
}

/// Skips the test, loudly, where there is no browser; in CI nothing is skipped.
#[macro_export]
macro_rules! needs_browser {
    () => {
        if !$crate::can_browse() {
            return;
        }
    };
}

/// What a person has set in the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// The language that the browser asks for.
    language: Language,
    /// A file of sound that the microphone hears, and its permission without a question.
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

    /// Reads English where the service is on SQLite, and Spanish on PostgreSQL: a test that runs on both databases is done
    /// in both languages, without more runs.
    #[must_use]
    pub const fn on(database: &Database) -> Self {
        match database {
            Database::Sqlite => Self::english(),
            Database::Postgres(_) => Self::spanish(),
        }
    }

    /// Speaks what is in this WAV file, over and over, into a microphone that every page may use: however long a page
    /// takes to listen, it hears the whole of it.
    #[must_use]
    pub fn speaking(mut self, file: PathBuf) -> Self {
        self.hears = Some(Box::leak(file.into_boxed_path()));
        self
    }
}

/// A browser with one window, cookies of its own and nothing remembered; it ends with the value.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    base: String,
    language: Language,
    driver: Arc<Driver>,
}

impl Browser {
    /// Opens a browser that will visit this server.
    ///
    /// # Panics
    /// If chromedriver or Chromium does not start.
    pub async fn of(person: Person, server: SocketAddr) -> Self {
        let driver = Arc::new(Driver::start().await);
        Self::by(driver, person, format!("http://{server}")).await
    }

    /// Another browser beside this one, which shares nothing with it.
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

    /// These words as its person reads them.
    pub fn words<'a>(&self, words: &'a impl Words) -> &'a str {
        words.in_language(self.language)
    }

    /// Goes to a path of the server, or to a whole address.
    pub async fn open(&self, target: &str) {
        let url = if target.starts_with("http") {
            target.to_owned()
        } else {
            format!("{}{target}", self.base)
        };
        must(&url, self.client.goto(&url).await);
    }

    /// Loads the page again.
    pub async fn reload(&self) {
        must("a reload", self.client.refresh().await);
    }

    /// Goes back in the window's history.
    pub async fn back(&self) {
        must("a step back", self.client.back().await);
    }

    /// The whole address of the page.
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

    /// The title of the page.
    pub async fn title(&self) -> String {
        must("the title", self.client.title().await)
    }

    /// Everything that can be read on the page, with single spaces.
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

    /// The value of a script, as the developer tools would run it: not bound by the page's policy.
    ///
    /// # Panics
    /// If it throws.
    pub async fn js(&self, script: &str, arguments: Vec<Value>) -> Value {
        must(script, self.client.execute(script, arguments).await)
    }

    /// The value that a script hands to its last argument, a function.
    ///
    /// # Panics
    /// If it throws.
    pub async fn js_later(&self, script: &str, arguments: Vec<Value>) -> Value {
        must(script, self.client.execute_async(script, arguments).await)
    }

    /// Cookies of the page: what they are, not only their values.
    pub async fn cookies(&self) -> Vec<Value> {
        let cookies = self.tools("Network.getCookies", json!({})).await;
        cookies["cookies"].as_array().cloned().unwrap_or_default()
    }

    /// The value of a cookie.
    pub async fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.cookies().await;
        let found = cookies.iter().find(|cookie| cookie["name"] == name)?;
        Some(text(&found["value"]).to_owned())
    }

    /// Puts a cookie into the browser, for this path and what is below it; no script can read it.
    pub async fn plant(&self, name: &str, value: &str, path: &str) {
        let url = format!("{}{path}", self.base);
        let cookie =
            json!({"name": name, "value": value, "url": url, "path": path, "httpOnly": true});
        self.tools("Network.setCookie", cookie).await;
    }

    /// Forgets every cookie, as time does.
    pub async fn forget(&self) {
        self.tools("Network.clearBrowserCookies", json!({})).await;
    }

    /// Sees the page at this size, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.tools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Prefers dark pages, or light ones.
    pub async fn dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.tools("Emulation.setEmulatedMedia", json!({"features": features}))
            .await;
    }

    /// A command of the developer tools' protocol.
    async fn tools(&self, command: &str, parameters: Value) -> Value {
        let command = driver::Extension {
            path: "goog/cdp/execute",
            body: json!({"cmd": command, "params": parameters}),
        };
        must("a developer tool", self.client.issue_cmd(command).await)
    }
}
