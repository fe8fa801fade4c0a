//! Talking with the widget: a microphone that plays a file, and a loudspeaker that is measured inside the browser.
//! The agent uses the scripted recognizer and synthesizer, so that only the browser has to be installed.

use std::path::Path;
use std::time::Duration;

use offhook_media::codec::Codec;
use offhook_media::resample::Resampler;
use offhook_tests::{
    Account, Browser, Database, Person, Server, Site, both, eventually, must, needs_browser,
    silence, wav,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{agent_with, page};

/// How long talking may take on a busy machine.
pub(in crate::portal) const PATIENCE: Duration = Duration::from_secs(60);

/// What the scripted recognizer returns for any speech.
pub(in crate::portal) const ASKED: &str = "When do you open?";

/// Records the loudest sample on its way to the loudspeaker.
const EAR: &str = "
    window.loudest = 0;
    const connect = AudioNode.prototype.connect;
    AudioNode.prototype.connect = function (to, ...rest) {
      if (to instanceof AudioDestinationNode) {
        const ear = this.context.createAnalyser();
        const samples = new Float32Array(ear.fftSize);
        connect.call(this, ear);
        setInterval(() => {
          ear.getFloatTimeDomainData(samples);
          for (const sample of samples) window.loudest = Math.max(window.loudest, Math.abs(sample));
        }, 20);
      }
      return connect.call(this, to, ...rest);
    };";

/// Writes the file of a visitor who asks one question, pauses, and repeats it.
pub(in crate::portal) fn visitor(folder: &Path) -> Person {
    let mut said = silence(Duration::from_secs(2));
    let codes = include_bytes!("../../../../../crates/media/tests/it/speech.ulaw");
    Codec::Pcmu.decode_into(codes, &mut said);
    said.extend(silence(Duration::from_secs(4)));
    let mut wide = Vec::new();
    let mut resampler = must("a filter", Resampler::new(8_000, 16_000));
    resampler.push(&said, &mut wide);
    resampler.finish(&mut wide);
    let file = folder.join("visitor.wav");
    must("a file", std::fs::write(&file, wav(&wide, 16_000)));
    Person::english().speaking(file)
}

/// A shop's page whose visitor has a microphone, and the account of its agent.
struct Shop {
    account: Account,
    browser: Browser,
    _server: Server,
    _folder: TempDir,
}

impl Shop {
    async fn open(database: Database) -> Self {
        let (server, account) = Server::furnished(database).await;
        let site = Site::start().await;
        let config = json!({
            "system_prompt": "say: We open at nine.",
            "first_message": "Welcome to Harbour Hotel.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "stt": {"provider": "scripted", "settings": {"lines": [ASKED]}},
            "voice": {"provider": "scripted", "voice_id": "scripted"},
            "conversation": {"turns": {"silence_timeout_s": 60}},
        });
        let agent = agent_with(&account, config, &site.origin()).await;
        site.shows(page(&server, &agent));
        let folder = must("a folder", tempfile::tempdir());
        let browser = Browser::of(visitor(folder.path()), server.address()).await;
        browser.open(&site.origin()).await;
        Self {
            account,
            browser,
            _server: server,
            _folder: folder,
        }
    }

    /// Waits until the page shows these words.
    async fn sees(&self, words: &str) {
        eventually(words, PATIENCE, || async {
            self.browser.reads().await.contains(words).then_some(())
        })
        .await;
    }

    /// The newest spoken conversation, once there is one.
    async fn call(&self) -> Value {
        eventually("a spoken conversation", PATIENCE, || async {
            let calls = self.account.read("/v1/calls?channel=widget_voice").await;
            calls["data"].get(0).cloned()
        })
        .await
    }
}

both! {
    async fn a_visitor_of_another_site_talks_with_an_agent(database: Database) {
        needs_browser!();
        let shop = Shop::open(database).await;
        let browser = &shop.browser;
        browser.js(EAR, vec![]).await;
        browser.click("Open chat").await;
        browser.sees("Welcome to Harbour Hotel.").await;
        browser.click("Talk by voice").await;
        shop.sees("Voice call").await;
        shop.sees(ASKED).await;
        shop.sees("We open at nine.").await;
        eventually("a sound", PATIENCE, || async {
            let loudest = browser.js("return window.loudest", vec![]).await;
            loudest.as_f64().filter(|loudest| *loudest > 0.05)
        })
        .await;
        browser.screenshot("widget-voice").await;
        browser.axe().await;
        browser.click("Mute").await;
        browser.sees("Listening…").await;
        browser.click("Unmute").await;
        browser.click("End call").await;
        browser.sees("You ended the call.").await;
        browser.no_violations().await;

        let id = shop.call().await["id"].clone();
        let id = id.as_str().unwrap_or_default();
        let call = shop.account.ended_within(&format!("call_{id}"), PATIENCE).await;
        assert_eq!(
            (&call["status"], &call["termination_reason"], &call["channel"]),
            (&json!("completed"), &json!("customer_hangup"), &json!("widget_voice")),
            "{call}"
        );
        let conversation = shop.account.read(&format!("/v1/conversations/{id}")).await;
        let turns = conversation["transcript"].as_array().cloned().unwrap_or_default();
        let said: Vec<_> = turns.iter().map(|turn| (&turn["role"], &turn["text"])).collect();
        assert!(said.contains(&(&json!("user"), &json!(ASKED))), "{conversation}");
        assert!(said.contains(&(&json!("agent"), &json!("We open at nine."))), "{conversation}");
    }

    async fn a_call_that_ends_takes_the_focus_from_nobody_and_leaves_a_way_on(database: Database) {
        needs_browser!();
        let shop = Shop::open(database).await;
        let browser = &shop.browser;
        browser.click("Open chat").await;
        browser.sees("Welcome to Harbour Hotel.").await;
        browser.click("End conversation").await;
        browser.sees("You ended the conversation.").await;
        browser.click("Talk by voice").await;
        shop.sees("Voice call").await;
        browser.click("Close").await;
        browser.misses("Voice call").await;

        // The call continues while the visitor uses the shop.
        browser.fill("Order number", "4711").await;
        assert_eq!(browser.focused().await, "Order number");
        let id = shop.call().await["id"].clone();
        let handle = format!("call_{}", id.as_str().unwrap_or_default());
        let hang_up = shop.account.post(&format!("/v1/calls/{handle}/hangup"), "{}");
        hang_up.await.assert(202);
        shop.account.ended_within(&handle, PATIENCE).await;
        // The button is the chat button again.
        let idle = "return !document.querySelector('offhook-widget').shadowRoot.querySelector('.launcher.talking')";
        eventually("a page that has noticed", PATIENCE, || async {
            (browser.js(idle, vec![]).await == json!(true)).then_some(())
        })
        .await;
        assert_eq!(browser.focused().await, "Order number");
        assert_eq!(browser.filled("Order number").await, "4711");

        browser.click("Open chat").await;
        browser.sees("The call has ended.").await;
        browser.click("Start a new conversation").await;
        browser.sees("Welcome to Harbour Hotel.").await;
        browser.no_violations().await;
    }
}
