//! A form as a browser sends it: with all fields that the page filled in.

use crate::it::world::{Browser, Page};

/// The fields of a form, as a browser would send them back.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads the controls of a page's `form` that is sent to `path`.
    #[track_caller]
    pub(crate) fn of(page: &Page, path: &str) -> Self {
        let begin = format!("action=\"/portal{path}\"");
        let (_, rest) = page
            .body
            .split_once(&begin)
            .unwrap_or_else(|| panic!("no form: {}", page.body));
        let form = rest.split("</form>").next().unwrap_or_default();
        let mut fields = Vec::new();
        for tag in form.split('<') {
            let name = attribute(tag, "name").unwrap_or_default();
            let value = attribute(tag, "value").unwrap_or_default();
            if tag.starts_with("input ") {
                let is_choice = tag.contains("type=\"checkbox\"") || tag.contains("type=\"radio\"");
                if name != "_token" && (!is_choice || tag.contains(" checked")) {
                    fields.push((name, value));
                }
            } else if tag.starts_with("textarea ") {
                let text = tag
                    .split_once('>')
                    .map(|(_, text)| text)
                    .unwrap_or_default();
                // Browsers drop the first line break, and send the others as CRLF.
                let text = text.strip_prefix('\n').unwrap_or(text);
                fields.push((name, plain(text).replace('\n', "\r\n")));
            } else if tag.starts_with("select ") {
                fields.push((name, String::new()));
            } else if tag.starts_with("option ")
                && tag.contains(" selected")
                && let Some(last) = fields.last_mut()
            {
                last.1 = value;
            }
        }
        Self(fields)
    }

    /// Sets a field.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        match self.0.iter_mut().find(|(field, _)| field == name) {
            Some(field) => value.clone_into(&mut field.1),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    /// The fields, and these behind them.
    pub(crate) fn with_all(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let more = more.iter();
        let more = more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.0.iter().cloned().chain(more).collect()
    }

    pub(crate) async fn send(&self, browser: &Browser, path: &str) -> Page {
        let fields = self.0.iter();
        let fields: Vec<(&str, &str)> = fields
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        browser.post(path, &fields).await
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let tag = tag.split('>').next()?;
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(plain(rest.split('"').next()?))
}

/// Decodes the entities of an HTML text.
pub(crate) fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// Opens a page and sends its form, with these fields filled in, to the same path.
pub(crate) async fn saved(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Page {
    let page = browser.get(path).await.assert(200);
    let form = Form::of(&page, path);
    let filled = fields
        .iter()
        .fold(form, |form, (name, value)| form.with(name, value));
    filled.send(browser, path).await
}
