//! Where a field stands in a text of JSON.

use offhook_domain::json::{item_path, member_path};

/// The line of the field at `path`, or of the deepest one above it that the text has. The text is valid JSON; `root` is the
/// path of its value.
pub(super) fn line_of(text: &str, root: &str, path: &str) -> Option<usize> {
    let mut cursor = Cursor {
        text,
        at: 0,
        path,
        found: None,
    };
    cursor.value(root);
    let found = cursor.found?;
    Some(text.get(..found)?.matches('\n').count() + 1)
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
    path: &'a str,
    /// The place of the deepest field so far that is or holds the one that is looked for.
    found: Option<usize>,
}

impl Cursor<'_> {
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..)?;
        self.at += rest.len() - rest.trim_start().len();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads the value at a path, which begins at `at`.
    fn value(&mut self, path: &str) -> Option<()> {
        match self.peek()? {
            b'{' => self.items(|cursor, _| {
                let begin = cursor.at;
                let raw = cursor.string()?;
                let name: String = serde_json::from_str(raw).ok()?;
                cursor.peek()?;
                cursor.at += 1;
                cursor.field(begin, &member_path(path, &name))
            }),
            b'[' => self.items(|cursor, place| {
                cursor.peek()?;
                cursor.field(cursor.at, &item_path(path, place))
            }),
            b'"' => self.string().map(drop),
            _ => {
                let rest = self.text.get(self.at..)?;
                let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
                self.at += end;
                Some(())
            }
        }
    }

    fn field(&mut self, begin: usize, path: &str) -> Option<()> {
        let rest = self.path.strip_prefix(path);
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
            self.found = Some(begin);
        }
        self.value(path)
    }

    /// Reads an object's or an array's items, from its first brace to its last.
    fn items(&mut self, mut item: impl FnMut(&mut Self, usize) -> Option<()>) -> Option<()> {
        self.at += 1;
        for place in 0.. {
            if matches!(self.peek()?, b'}' | b']') {
                break;
            }
            item(self, place)?;
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads a string with its quotes.
    fn string(&mut self) -> Option<&str> {
        self.peek()?;
        let begin = self.at;
        let mut bytes = self.text.as_bytes().iter().enumerate().skip(begin + 1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()),
                b'"' => {
                    self.at = at + 1;
                    return self.text.get(begin..=at);
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_path() {
        let text =
            "{\n \"a\": {\"b\": [1,\n {\"c\\\"}\": \"]\"}],\n \"d\": -1.5e3},\n \"e.f\": true\n}";
        for (path, line) in [
            ("config.a", Some(2)),
            ("config.a.b[0]", Some(2)),
            ("config.a.b[1].c\"}", Some(3)),
            ("config.a.d", Some(4)),
            ("config.e.f", Some(5)),
            // What is missing is missing in what holds it.
            ("config.a.z", Some(2)),
            ("config.z", None),
            ("config", None),
        ] {
            assert_eq!(line_of(text, "config", path), line, "{path}");
        }
        assert_eq!(line_of("", "config", "config.a"), None);
    }
}
