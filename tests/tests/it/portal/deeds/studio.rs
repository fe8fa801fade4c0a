//! Trying a draft beside its editor.

use offhook_tests::{Browser, Key, both, eventually, must, needs_browser};
use serde_json::json;

use super::super::stage::Stage;
use super::super::widget::voice::{ASKED, PATIENCE, visitor};

both! {
    async fn settings_are_slid_by_key_and_names_of_variables_completed(database: Database) {
        let Some((stage, person)) = Stage::seen(database).await else { return };
        let agent = stage.account.agent().await;
        let browser = stage.owner(person).await;
        browser.open(&format!("/portal/agents/{agent}/edit")).await;
        let slider = "const slider = document.querySelector('[data-slides=\"field-llm.temperature\"]');
            slider.closest('details').open = true; slider.focus(); return slider.value;";
        assert_eq!(browser.js(slider, vec![]).await, json!("0.7"));
        browser.presses(&Key::Right).await;
        let temperature = "return document.getElementById('field-llm.temperature').value;";
        assert_eq!(browser.js(temperature, vec![]).await, json!("0.8"));

        let end = "const text = document.getElementById('field-first_message');
            text.focus(); text.setSelectionRange(text.value.length, text.value.length);";
        browser.js(end, vec![]).await;
        browser.presses(" {{le").await;
        browser.counts("#completions [role=option]", 1).await;
        browser.presses(&Key::Enter).await;
        browser.counts("#completions", 0).await;
        browser.click(("Save", "Guardar")).await;
        browser.sees(("version 2 is the latest.", "la 2 es la última.")).await;
        browser.no_violations().await;
        let saved = stage.account.read(&format!("/v1/agents/{agent}")).await;
        let config = &saved["config"];
        assert_eq!(config["llm"]["temperature"], 0.8, "{config}");
        let message = config["first_message"].as_str().unwrap_or_default();
        assert!(message.ends_with(" {{lead_name}}"), "{message}");
    }

    async fn a_draft_is_written_and_talked_with_beside_its_editor(database: Database) {
        needs_browser!();
        let stage = Stage::open(database).await;
        let agent = stage.account.agent_with(json!({
            "system_prompt": "say: We open at nine.",
            "first_message": "Welcome to Harbour Hotel.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "stt": {"provider": "scripted", "settings": {"lines": [ASKED]}},
            "voice": {"provider": "scripted", "voice_id": "scripted"},
            "conversation": {"turns": {"silence_timeout_s": 60}},
        })).await;
        let folder = must("a folder", tempfile::tempdir());
        let browser = stage.owner(visitor(folder.path())).await;
        browser.open(&format!("/portal/agents/{agent}/edit")).await;
        browser.fill("Instructions (system prompt)", "say: At ten on Sundays.").await;
        browser.fill("Message", "When do you open on Sundays?").await;
        browser.click("Send").await;
        browser.sees("At ten on Sundays.").await;
        browser.sees("credits for a customer").await;
        browser.screenshot("studio").await;
        browser.axe().await;

        browser.fill("Instructions (system prompt)", "say: On Sundays at eleven.").await;
        browser.click("Ask again").await;
        browser.sees("On Sundays at eleven.").await;
        browser.misses("At ten on Sundays.").await;

        browser.fill("First message", "Ahoy there.").await;
        browser.click("Talk").await;
        heard(&browser, "Ahoy there.").await;
        heard(&browser, ASKED).await;
        heard(&browser, "On Sundays at eleven.").await;
        heard(&browser, "Latency").await;
        browser.screenshot("studio-voice").await;
        browser.click("Hang up").await;
        heard(&browser, "The conversation ended. (customer_hangup)").await;
        browser.no_violations().await;

        let calls = stage.account.read("/v1/conversations").await;
        assert_eq!(calls["data"], json!([]), "{calls}");
        let saved = stage.account.read(&format!("/v1/agents/{agent}")).await;
        assert_eq!(saved["config"]["first_message"], "Welcome to Harbour Hotel.");
    }
}

/// Waits until the page shows these words.
async fn heard(browser: &Browser, words: &str) {
    eventually(words, PATIENCE, || async {
        browser.reads().await.contains(words).then_some(())
    })
    .await;
}
