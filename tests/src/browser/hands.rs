//! A person's actions on a page.

use std::path::Path;
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::elements::{Element, ElementRef};
use fantoccini::key::Key;
use serde_json::{Value, json};

use super::{Browser, PATIENCE, Words};
use crate::wait::must;

/// The name of an element's reference in WebDriver's JSON (WebDriver, section 12.2).
const REFERENCE: &str = "element-6066-11e4-a52e-4f735466cecf";

/// No person presses the tab key more often than this.
const TABS: usize = 60;

/// How often the page is checked.
const EVERY: Duration = Duration::from_millis(40);

impl Browser {
    /// Clicks the link, button, tab or box with this name.
    pub async fn click(&self, name: impl Words) {
        self.press(self.words(&name), None).await;
    }

    /// Clicks it in the row, item, section or form that contains `words`.
    pub async fn click_near(&self, words: impl Words, name: impl Words) {
        self.press(self.words(&name), Some(self.words(&words)))
            .await;
    }

    /// Clicks the first element that a selector finds, for controls named by their content, such as a time.
    pub async fn click_first(&self, selector: &str) {
        let element = self.client.wait().at_most(PATIENCE);
        let element = element.for_element(fantoccini::Locator::Css(selector));
        let element = must(selector, element.await);
        must(selector, element.click().await);
    }

    /// Accepts the browser's confirmation dialog.
    pub async fn agrees(&self) {
        self.until("a question", async || self.client.accept_alert().await.ok())
            .await;
    }

    /// Replaces the text of the field with this label.
    pub async fn fill(&self, label: impl Words, words: &str) {
        let label = self.words(&label);
        let field = self.find("fill", label, None).await;
        self.write(label, field, words).await;
    }

    /// The text of the field with this label.
    pub async fn filled(&self, label: impl Words) -> String {
        let label = self.words(&label);
        let field = self.find("fill", label, None).await;
        must(label, field.prop("value").await).unwrap_or_default()
    }

    /// Selects an option, by its text, from the list with this label.
    pub async fn choose(&self, label: impl Words, choice: impl Words) {
        let list = self.find("choose", self.words(&label), None).await;
        let choice = self.words(&choice);
        must(choice, list.select_by_label(choice).await);
    }

    /// Attaches a file to the field with this label.
    pub async fn attach(&self, label: impl Words, file: &Path) {
        let label = self.words(&label);
        let field = self.find("fill", label, None).await;
        must(label, field.send_keys(&file.to_string_lossy()).await);
    }

    /// Types these characters one after another where the focus is; [`Key`] has the keys without a character.
    pub async fn presses(&self, keys: &str) {
        let mut hand = KeyActions::new("keyboard".to_owned());
        for value in keys.chars() {
            hand = hand.then(KeyAction::Down { value });
            hand = hand.then(KeyAction::Up { value });
        }
        must(keys, self.client.perform_actions(hand).await);
    }

    /// The name of the focused element.
    ///
    /// # Panics
    /// If the focus is not visible.
    pub async fn focused(&self) -> String {
        let found = self.look("focus", "", None).await;
        let name = found["names"][0].as_str().unwrap_or_default();
        if found["seen"] != json!(true) {
            self.fails(&format!("nobody sees that {name:?} has the focus"))
                .await;
        }
        name.to_owned()
    }

    /// Presses the tab key until the element with this name has the focus; returns the names that it passed.
    ///
    /// # Panics
    /// If it is not among the next [`TABS`] elements, or the focus is not visible.
    pub async fn tabs_to(&self, name: impl Words) -> Vec<String> {
        let name = self.words(&name);
        let mut passed = Vec::new();
        while passed.len() < TABS {
            self.presses(&Key::Tab).await;
            let focused = self.focused().await;
            if focused == name {
                return passed;
            }
            passed.push(focused);
        }
        self.fails(&format!("{name} cannot be reached by keys: {passed:?}"))
            .await
    }

    /// Waits until the page shows these words. Letter case does not matter, because styles change it.
    pub async fn sees(&self, words: impl Words) {
        let words = self.words(&words);
        let wanted = words.to_lowercase();
        self.until(words, async || {
            let page = self.reads().await.to_lowercase();
            page.contains(&wanted).then_some(())
        })
        .await;
    }

    /// Waits until the page no longer shows these words.
    pub async fn misses(&self, words: impl Words) {
        let words = self.words(&words);
        let unwanted = words.to_lowercase();
        self.until(&format!("no {words}"), async || {
            let page = self.reads().await.to_lowercase();
            (!page.contains(&unwanted)).then_some(())
        })
        .await;
    }

    /// Waits until the page's path begins with `path`.
    pub async fn arrives(&self, path: &str) {
        self.until(path, async || {
            self.path().await.starts_with(path).then_some(())
        })
        .await;
    }

    /// The text of the first element that a selector finds, with single spaces.
    pub async fn text_of(&self, selector: &str) -> String {
        self.until(selector, async || {
            let script = "const e = document.querySelector(arguments[0]);
                return e && e.innerText.replace(/\\s+/g, ' ').trim()";
            let words = self.js(script, vec![json!(selector)]).await;
            words.as_str().map(str::to_owned)
        })
        .await
    }

    /// Waits until a selector finds `count` elements.
    pub async fn counts(&self, selector: &str, count: usize) {
        self.until(&format!("{count} {selector}"), async || {
            (self.count(selector).await == count).then_some(())
        })
        .await;
    }

    /// How many elements a selector finds now.
    pub async fn count(&self, selector: &str) -> usize {
        let script = "return document.querySelectorAll(arguments[0]).length";
        let count = self.js(script, vec![json!(selector)]).await;
        count
            .as_u64()
            .and_then(|count| count.try_into().ok())
            .unwrap_or_default()
    }

    /// Waits until `ask` returns a value.
    ///
    /// # Panics
    /// If none comes within [`PATIENCE`]; the message shows the page's text.
    pub async fn until<T>(&self, what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            if began.elapsed() > PATIENCE {
                self.fails(&format!("not within {PATIENCE:?}: {what}"))
                    .await;
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Fails with a screenshot and the page's text.
    async fn fails(&self, why: &str) -> ! {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("test").replace("::", "-");
        self.screenshot(&format!("failed-{name}")).await;
        let (address, page) = (self.address().await, self.reads().await);
        panic!("{why}\nat {address}, which says:\n{page}");
    }

    async fn press(&self, name: &str, near: Option<&str>) {
        let began = Instant::now();
        loop {
            let control = self.find("click", name, near).await;
            match control.click().await {
                Ok(()) => return,
                // The page re-rendered the element between the look-up and the click.
                Err(error) if error.is_stale_element_reference() && began.elapsed() < PATIENCE => {}
                Err(error) => {
                    self.fails(&format!("{name} cannot be clicked: {error}"))
                        .await;
                }
            }
        }
    }

    async fn write(&self, label: &str, field: Element, words: &str) {
        if let Err(error) = field.clear().await {
            self.fails(&format!("{label} cannot be emptied: {error}"))
                .await;
        }
        if let Err(error) = field.send_keys(words).await {
            self.fails(&format!("{label} cannot be filled: {error}"))
                .await;
        }
    }

    async fn look(&self, kind: &str, name: &str, near: Option<&str>) -> Value {
        let arguments = vec![json!(kind), json!(name), json!(near)];
        self.js(include_str!("find.js"), arguments).await
    }

    async fn find(&self, kind: &str, name: &str, near: Option<&str>) -> Element {
        let began = Instant::now();
        loop {
            let found = self.look(kind, name, near).await;
            let several = found["count"].as_u64() > Some(1) && found["same"] != json!(true);
            if !several && let Some(id) = found["element"][REFERENCE].as_str() {
                return Element::from_element_id(
                    self.client.clone(),
                    ElementRef::from(id.to_owned()),
                );
            }
            if began.elapsed() > PATIENCE {
                let names = found["names"].as_array().cloned().unwrap_or_default();
                let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
                let how_many = if several { "several are" } else { "none is" };
                self.fails(&format!(
                    "{how_many} to {kind} as {name:?} (near {near:?}) among {names:?}"
                ))
                .await;
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}
