//! Web pages: the visible text, block by block.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::MAX_TEXT_BYTES;
use offhook_domain::DocumentFault;

/// Elements with invisible content.
const HIDDEN: [&[u8]; 9] = [
    b"head",
    b"iframe",
    b"noscript",
    b"script",
    b"style",
    b"svg",
    b"template",
    b"textarea",
    b"title",
];

/// Blocks that are separated by an empty line.
const APART: [&[u8]; 15] = [
    b"blockquote",
    b"details",
    b"dl",
    b"fieldset",
    b"figure",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"ol",
    b"p",
    b"pre",
    b"table",
];

/// Blocks that start a new line.
const LINES: [&[u8]; 24] = [
    b"address",
    b"article",
    b"aside",
    b"body",
    b"caption",
    b"dd",
    b"div",
    b"dt",
    b"figcaption",
    b"footer",
    b"form",
    b"header",
    b"hr",
    b"legend",
    b"li",
    b"main",
    b"nav",
    b"option",
    b"section",
    b"select",
    b"summary",
    b"tbody",
    b"thead",
    b"tr",
];

pub(super) fn text(html: &str) -> Result<String, DocumentFault> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Page::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Ok(Token::StartTag(tag)) => page.start(&tag),
            Ok(Token::EndTag(tag)) => page.end(&tag.name),
            Ok(Token::String(text)) if page.hidden.is_none() => {
                page.add(&String::from_utf8_lossy(&text));
            }
            _ => {}
        }
        if page.text.len() > MAX_TEXT_BYTES {
            return Err(DocumentFault::TooLong);
        }
    }
    page.text.push('\n');
    Ok(page.text)
}

#[derive(Default)]
struct Page {
    text: String,
    /// Line ends, or a space or a tab, before the next word.
    breaks: usize,
    gap: &'static str,
    /// The element that hides everything until its end tag.
    hidden: Option<Vec<u8>>,
    /// The nesting depth of `<pre>`.
    preformatted: usize,
    /// The open lists: the number of the next item, if they are numbered.
    lists: Vec<Option<i64>>,
}

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = &tag.name[..];
        if self.hidden.as_deref() == Some(b"head") && !is_of_head(name) {
            // The end tag of `head` is optional.
            self.hidden = None;
        }
        if self.hidden.is_some() {
            return;
        }
        if HIDDEN.contains(&name) {
            self.hidden = (!tag.self_closing).then(|| name.to_vec());
            return;
        }
        self.block(name);
        let attribute = |name: &[u8]| {
            let found = tag.attributes.iter().find(|(own, _)| &own[..] == name);
            found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        match name {
            b"br" => self.breaks += 1,
            b"td" | b"th" => self.gap = "\t",
            b"pre" => self.preformatted += 1,
            b"ul" => self.lists.push(None),
            b"ol" => {
                let start = attribute(b"start").and_then(|start| start.parse().ok());
                self.lists.push(Some(start.unwrap_or(1)));
            }
            b"li" => self.item(),
            b"img" => {
                if let Some(words) = attribute(b"alt").filter(|words| !words.trim().is_empty()) {
                    self.add(&format!("[{}]", words.trim()));
                }
            }
            [b'h', level @ b'1'..=b'6'] => self.push(&"#".repeat(usize::from(level - b'0'))),
            _ => {}
        }
        if let [b'h', b'1'..=b'6'] = name {
            self.gap = " ";
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some(hidden) = &self.hidden {
            if hidden == name {
                self.hidden = None;
            }
            return;
        }
        match name {
            b"pre" => self.preformatted = self.preformatted.saturating_sub(1),
            b"ol" | b"ul" => drop(self.lists.pop()),
            _ => {}
        }
        self.block(name);
    }

    fn block(&mut self, name: &[u8]) {
        let is_inner_list = matches!(name, b"ol" | b"ul") && !self.lists.is_empty();
        if APART.contains(&name) && !is_inner_list {
            self.breaks = self.breaks.max(2);
        } else if is_inner_list || LINES.contains(&name) {
            self.breaks = self.breaks.max(1);
        }
    }

    /// Starts an item of the innermost list.
    fn item(&mut self) {
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{indent}{}.", number.saturating_sub(1))
            }
            _ => format!("{indent}*"),
        };
        self.push(&mark);
        self.gap = " ";
    }

    /// Adds text as displayed: white space collapses, except in preformatted text.
    fn add(&mut self, text: &str) {
        if self.preformatted > 0 {
            return self.push(text);
        }
        for (place, word) in text.split(is_space).enumerate() {
            if place > 0 && self.gap.is_empty() {
                self.gap = " ";
            }
            if !word.is_empty() {
                self.push(word);
            }
        }
    }

    /// Adds text after the pending separator.
    fn push(&mut self, text: &str) {
        let gap = std::mem::take(&mut self.gap);
        let breaks = std::mem::take(&mut self.breaks);
        match self.text.is_empty() {
            true => {}
            false if breaks > 0 => self.text.extend(std::iter::repeat_n('\n', breaks.min(3))),
            false => self.text.push_str(gap),
        }
        self.text.push_str(text);
    }
}

/// HTML white space; a no-break space is an ordinary character.
const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn is_of_head(name: &[u8]) -> bool {
    let own: [&[u8]; 4] = [b"base", b"link", b"meta", b"head"];
    own.contains(&name) || HIDDEN.contains(&name) && name != b"svg" && name != b"iframe"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_laid_out_as_it_is_read() {
        let html = "<!doctype html><html><head><title>t</title><style>p{}</style><script>\"<p>no\"</script></head><body>\
            <h1>Prices &amp;\n  hours</h1><p>A room is\n <b>900</b> pesos.<br>Or&nbsp;more<p>Second</p>\
            <ul><li>One<li>Two<ol start=3><li>in</li><li>ner</li></ol></li></ul>\
            <table><tr><th>Room<th>Price</tr><tr><td>Double</td><td> 900 </td></tr></table>\
            <div>a<div>b</div>c</div><pre>x\n  y</pre><img alt='A pool' src=p.jpg><svg><title>i</title></svg>\
            <a href=/x>link</a>ed<noscript><p>none</noscript></body></html>";
        assert_eq!(
            text(html).unwrap(),
            "# Prices & hours\n\nA room is 900 pesos.\nOr\u{a0}more\n\nSecond\n\n* One\n* Two\n  3. in\n  4. ner\n\n\
             Room\tPrice\nDouble\t900\n\na\nb\nc\n\nx\n  y\n\n[A pool]linked\n"
        );
        assert_eq!(
            text("<meta charset=x><title>t</title><p>Año</p>").unwrap(),
            "Año\n"
        );
        assert_eq!(
            text("<html><head><meta charset=x><h2>No end").unwrap(),
            "## No end\n"
        );
        assert_eq!(
            text("a < b &lt; c</p></ul></nonsense").unwrap(),
            "a < b < c\n"
        );
        assert_eq!(text("<script>never ended").unwrap(), "\n");
    }

    #[test]
    fn a_page_of_any_depth_is_read() {
        for open in ["<div>", "<ul><li>", "<pre>", "<table><td>", "<svg>"] {
            text(&open.repeat(100_000)).unwrap();
        }
    }
}
