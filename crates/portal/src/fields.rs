//! The fields of a form or a query.

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

/// The largest number of fields read; the largest form has some hundreds. Further fields are ignored.
const MOST: usize = 5_000;

/// Names and values in the order in which they were sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `application/x-www-form-urlencoded`.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut fields = Self::default();
        for (name, value) in form_urlencoded::parse(text).take(MOST) {
            fields.push(&name, &value);
        }
        fields
    }

    pub(crate) fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut fields = Self::default();
        for (name, value) in pairs {
            fields.push(name, value);
        }
        fields
    }

    /// These fields without those of this name.
    pub(crate) fn without(&self, name: &str) -> Self {
        Self::of(self.iter().filter(|(field, _)| *field != name))
    }

    /// The field's value, without white space around it; `None` where it is absent or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|value| !value.is_empty())
    }

    /// The field's value without white space around it, empty where it is absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The field's value as it was sent: passwords, prompts.
    pub(crate) fn raw(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value)
    }

    /// Every value of a repeated field.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(field, _)| field == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Whether a checkbox is set.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Everything, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Adds a field. U+0000, which cannot be typed and no stored text may have, is removed.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.0
            .push((name.replace('\0', ""), value.replace('\0', "")));
    }

    /// Replaces every value of a field by this one.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(field, _)| field != name);
        self.push(name, value);
    }

    /// Encodes the fields as a query or a form body.
    pub(crate) fn encode(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }
}

/// A path of this portal. `None` for anything that leads elsewhere (`//host`, `/\host`, schemes, other parts of the service:
/// open redirects) and for control characters.
pub(crate) fn local_path(path: &str) -> Option<&str> {
    let inside = path
        .strip_prefix(crate::PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    // Nothing in a query can redirect.
    let (way, query) = path.split_once('?').unwrap_or((path, ""));
    let decoded = percent_decode_str(way).decode_utf8().ok()?;
    let is_odd = |sign: char| sign == '\\' || sign.is_control();
    let plain = !decoded.contains(is_odd) && !decoded.contains("//");
    let encoded = query.bytes().all(|byte| byte.is_ascii_graphic());
    (inside && plain && encoded && !decoded.contains("..")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_portal_are_local() {
        for path in [
            "/portal",
            "/portal/agents",
            "/portal/agents?q=a%20b",
            "/portal/knowledge/upload?name=https%3A%2F%2Fa.example%2F..",
        ] {
            assert_eq!(local_path(path), Some(path));
        }
        for path in [
            "",
            "/",
            "//evil.example",
            "/v1/me",
            "https://evil.example/portal",
            "/portal//evil.example",
            "/portal/%2f%2fevil.example",
            "/\\evil.example",
            "/portal/../v1",
            "/portal/%01",
            "/portal/%7F",
            "/portal/%C2%85",
            "/portal/%0d%0aSet-Cookie:a=b",
            "/portal\r\nSet-Cookie: a=b",
            "/portal?a\r\nSet-Cookie: a=b",
            "/portalx",
        ] {
            assert_eq!(local_path(path), None, "{path:?}");
        }
    }

    #[test]
    fn fields_keep_their_order_and_lose_the_white_space_around_them() {
        let fields = Fields::parse(b"name=+A+%26+B+&scope=x&scope=y&empty=");
        assert_eq!(fields.get("name"), Some("A & B"));
        assert_eq!(fields.raw("name"), " A & B ");
        assert_eq!(fields.all("scope").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(fields.get("empty"), None);
        assert!(!fields.is_set("other"));
    }

    #[test]
    fn no_field_has_a_u_0000() {
        let fields = Fields::parse(b"na%00me=a%00b&q=%00");
        assert_eq!((fields.text("name"), fields.get("q")), ("ab", None));
    }
}
