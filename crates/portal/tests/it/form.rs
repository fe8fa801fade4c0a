//! A form as a browser sends it: with everything that its page has put into it.

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
                // Browsers leave the first line end out, and send the others so.
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

    /// With this in a field.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        match self.0.iter_mut().find(|(field, _)| field == name) {
            Some(field) => value.clone_into(&mut field.1),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    /// Sends it.
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

/// A text of HTML as it is read.
pub(crate) fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// Opens a page and sends its form of the same address with these fields filled in.
pub(crate) async fn saved(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Page {
    let page = browser.get(path).await.assert(200);
    let form = Form::of(&page, path);
    let filled = fields
        .iter()
        .fold(form, |form, (name, value)| form.with(name, value));
    filled.send(browser, path).await
}
