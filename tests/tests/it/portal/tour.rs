//! Every page of the router: in both languages, light and dark, on a phone, for screen readers, and with malicious
//! texts.

use std::collections::BTreeSet;

use offhook_tests::{Browser, Database, Person, both, needs_browser};
use serde_json::json;

use super::furnished::{Furnished, SCRIPT};
use super::stage::Stage;

/// The portal's own sentences on the page: neither user input nor code.
const SENTENCES: &str = "
    const sentences = new Set();
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
      const text = words.currentNode.textContent.replace(/\\s+/g, ' ').trim();
      const own = !words.currentNode.parentElement.closest('code, pre, textarea, time, script, option, td, dd, .turns, .diff');
      if (own && /[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(text)) sentences.add(text);
    }
    return [...sentences]";

/// A name for screenshots of a page.
fn name(path: &str) -> String {
    let name = path.trim_start_matches("/portal").trim_matches('/');
    match name {
        "" => "overview".to_owned(),
        name => name.replace(['{', '}'], "").replace('/', "-"),
    }
}

async fn sentences(browser: &Browser) -> BTreeSet<String> {
    let found = browser.js(SENTENCES, vec![]).await;
    let found = found.as_array().cloned().unwrap_or_default();
    found
        .iter()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// The page's faults: user text that became an element, or another language.
async fn faults(browser: &Browser, path: &str, lang: &str) -> Vec<String> {
    let script =
        "return [document.documentElement.lang, document.querySelectorAll('img[src=x]').length]";
    let found = browser.js(script, vec![]).await;
    let mut faults = browser.violations().await;
    if found != json!([lang, 0]) {
        faults.push(format!("{path}: language and strange pictures: {found}"));
    }
    faults
}

/// The areas whose pages are about agents and what they say; about as many pages as the rest.
const OF_AGENTS: [&str; 5] = ["agents", "conversations", "knowledge", "tools", "try"];

fn is_of_agents(path: &str) -> bool {
    let area = path.trim_start_matches("/portal/").split('/').next();
    area.is_some_and(|area| OF_AGENTS.contains(&area))
}

/// Visits the pages whose paths are wanted.
async fn tour(database: Database, wanted: fn(&str) -> bool) {
    let with_pictures = !database.is_shared();
    // Pictures are looked at: there, the texts are a customer's.
    let odd = match std::env::var_os("OFFHOOK_TEST_PICTURES") {
        Some(_) => "",
        None => SCRIPT,
    };
    let stage = Stage::open(database).await;
    let owner = stage.signed_in().await;
    let furnished = Furnished::of(&stage, &owner, odd).await;
    let browser = stage.browser(Person::english(), &owner).await;
    // An account without an identity provider has no page of it.
    let pages = offhook_portal::pages().into_iter();
    let pages = pages.filter(|page| page.whole && page.path != "/portal/sso/{account}");
    let pages = pages.map(|page| (name(&page.path), furnished.fill(&page.path)));
    // A legacy agent's page differs from an engine agent's.
    let legacy = format!("/portal/agents/{}", furnished.legacy);
    let pages = pages.chain([("agents-legacy".to_owned(), legacy)]);
    let mut wrong = Vec::new();
    for (name, path) in pages.filter(|(_, path)| wanted(path)) {
        browser.plant("offhook_lang", "en", "/portal").await;
        browser.open(&path).await;
        wrong.extend(faults(&browser, &path, "en").await);
        let english = sentences(&browser).await;
        // What leads elsewhere has no looks of its own.
        if with_pictures && browser.path().await == path {
            wrong.extend(browser.portraits(&name).await);
        }
        browser.plant("offhook_lang", "es", "/portal").await;
        browser.open(&path).await;
        wrong.extend(faults(&browser, &path, "es-MX").await);
        let spanish = sentences(&browser).await;
        let same = english
            .intersection(&spanish)
            .filter(|text| !text.contains(odd));
        wrong.extend(same.map(|text| format!("{path}: the same in both languages: {text}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

both! {
    async fn every_page_of_agents_is_safe_and_serves_everybody_in_both_languages(database: Database) {
        needs_browser!();
        tour(database, is_of_agents).await;
    }

    async fn every_other_page_is_safe_and_serves_everybody_in_both_languages(database: Database) {
        needs_browser!();
        tour(database, |path| !is_of_agents(path)).await;
    }
}
