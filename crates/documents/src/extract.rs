//! Extracts the text of a file.

mod docx;
mod html;
mod pdf;
mod table;

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use offhook_domain::DocumentFault;

use crate::format::{Format, looks_binary};

/// The longest text of a document: about four thousand pages.
pub const MAX_TEXT_BYTES: usize = 10 * 1024 * 1024;

/// A page declares its encoding within this many bytes (HTML, 4.2.5.4).
const META_WITHIN: usize = 1024;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Extracts the text of a file. It may take any time and memory, so run it in a process with limits
/// ([`ChildExtractor`](crate::ChildExtractor)). Returns [`DocumentFault`] for a broken, encrypted, empty or oversized
/// file.
pub fn extract(format: Format, content: &[u8]) -> Result<String, DocumentFault> {
    let text = match format {
        Format::Text | Format::Markdown => decode(content)?.into_owned(),
        Format::Csv => table::text(&decode(content)?)?,
        Format::Html => html::text(&decode_page(content)?)?,
        Format::Pdf => pdf::text(content)?,
        Format::Docx => docx::text(content)?,
    };
    let text = clean(&text);
    if text.len() > MAX_TEXT_BYTES {
        return Err(DocumentFault::TooLong);
    }
    if text.trim().is_empty() {
        return Err(match format {
            Format::Pdf => DocumentFault::Scan,
            _ => DocumentFault::NoText,
        });
    }
    Ok(text)
}

/// Decodes UTF-8, UTF-16 with a byte order mark, or else Windows-1252, which spreadsheets still write. Fails if the
/// content does not look like text.
pub fn decode(content: &[u8]) -> Result<Cow<'_, str>, DocumentFault> {
    if let Some((encoding, mark)) = Encoding::for_bom(content) {
        return Ok(encoding.decode_without_bom_handling(&content[mark..]).0);
    }
    if looks_binary(content) {
        return Err(DocumentFault::Binary);
    }
    if let Some(text) = UTF_8.decode_without_bom_handling_and_without_replacement(content) {
        return Ok(text);
    }
    Ok(WINDOWS_1252.decode_without_bom_handling(content).0)
}

/// Decodes a page in its declared encoding, unless something else determines the encoding.
fn decode_page(content: &[u8]) -> Result<Cow<'_, str>, DocumentFault> {
    if Encoding::for_bom(content).is_none()
        && std::str::from_utf8(content).is_err()
        && !looks_binary(content)
        && let Some(encoding) = named_encoding(content)
    {
        return Ok(encoding.decode_without_bom_handling(content).0);
    }
    decode(content)
}

/// The encoding in `<meta charset="…">`, or `content="…; charset=…"`, at the beginning of a page.
fn named_encoding(content: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&content[..content.len().min(META_WITHIN)]);
    let head = head.to_ascii_lowercase();
    let (_, rest) = head.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'']);
    let end = rest.find(['"', '\'', ' ', ';', '>', '/'])?;
    Encoding::for_label(&rest.as_bytes()[..end])
}

impl Format {
    /// Converts text in a known character set to UTF-8, unless the content declares its own encoding.
    pub fn in_utf8(self, content: Vec<u8>, charset: &str) -> Vec<u8> {
        let is_text = !matches!(self, Self::Pdf | Self::Docx);
        let known = Encoding::for_label(charset.as_bytes());
        match known {
            Some(encoding)
                if is_text && encoding != UTF_8 && Encoding::for_bom(&content).is_none() =>
            {
                // With the mark, the page's own declaration no longer counts.
                let text = encoding.decode_without_bom_handling(&content).0;
                [MARK, text.as_bytes()].concat()
            }
            _ => content,
        }
    }
}

/// Removes invisible characters: carriage returns, U+0000 and other controls.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' | '\u{c}' | '\u{b}' => clean.push('\n'),
            '\n' | '\t' => clean.push(character),
            '\u{feff}' => {}
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(format: Format, content: &[u8]) -> String {
        extract(format, content).unwrap()
    }

    #[test]
    fn text_is_read_in_the_encodings_that_people_use() {
        assert_eq!(
            text_of(Format::Text, "Año\r\nnuevo\0?".replace('\0', "").as_bytes()),
            "Año\nnuevo?"
        );
        assert_eq!(text_of(Format::Text, b"\xef\xbb\xbfhi"), "hi");
        assert_eq!(text_of(Format::Text, b"\xff\xfeh\0i\0"), "hi");
        assert_eq!(text_of(Format::Text, b"A\xf1o"), "Año");
        assert!(extract(Format::Text, b"MZ\x90\0\x03").is_err());
        assert!(extract(Format::Text, b" \n\t ").is_err());
    }

    #[test]
    fn a_page_is_read_in_the_encoding_that_its_server_or_it_itself_names() {
        for (meta, body, said) in [
            (
                "<meta charset=\"shift_jis\">",
                &b"\x97\xbf\x8b\xe0"[..],
                "料金",
            ),
            (
                "<meta http-equiv=Content-Type content='text/html; charset=ISO-8859-2'>",
                b"\xb3\xf3d\xbc",
                "łódź",
            ),
            ("<meta charset=nonsense>", b"A\xf1o", "Año"),
            ("<meta charset=shift_jis>", "Año".as_bytes(), "Año"),
        ] {
            let page = [format!("<html>{meta}<p>").as_bytes(), body].concat();
            assert!(text_of(Format::Html, &page).contains(said), "{meta}");
        }
        let named = |content: &[u8], charset| Format::Text.in_utf8(content.to_vec(), charset);
        assert_eq!(
            text_of(Format::Text, &named(b"\xb3\xf3d\xbc", "iso-8859-2")),
            "łódź"
        );
        assert_eq!(
            text_of(Format::Text, &named("Año".as_bytes(), "utf-8")),
            "Año"
        );
        assert_eq!(
            text_of(Format::Text, &named(b"\xff\xfeh\0i\0", "latin1")),
            "hi"
        );
        assert_eq!(named(b"A\xf1o", "nonsense"), b"A\xf1o");
        let pdf = b"%PDF-\xf1".to_vec();
        assert_eq!(Format::Pdf.in_utf8(pdf.clone(), "latin1"), pdf);
        let page = b"<meta charset=shift_jis><p>A\xf1o</p>".to_vec();
        let page = Format::Html.in_utf8(page, "windows-1252");
        assert!(
            text_of(Format::Html, &page).contains("Año"),
            "the server's word goes first"
        );
    }

    #[test]
    fn a_page_is_read_without_its_scripts_and_tags() {
        let html = "<html><head><title>t</title><style>p{}</style><script>alert(1)</script></head>\
                    <body><h1>Prices</h1><p>A room is <b>900</b> pesos &amp; up.</p><ul><li>One</li><li>Two</li></ul>\
                    <table><tr><td>a</td><td>b</td></tr></table></body></html>";
        let text = text_of(Format::Html, html.as_bytes());
        assert!(text.contains("A room is 900 pesos & up."), "{text}");
        assert!(!text.contains("alert") && !text.contains("p{}"), "{text}");
        assert!(text.contains("Two"), "{text}");
    }

    #[test]
    fn more_text_than_the_limit_is_refused() {
        let long = "word ".repeat(MAX_TEXT_BYTES / 5 + 1);
        assert_eq!(
            extract(Format::Text, long.as_bytes()),
            Err(DocumentFault::TooLong)
        );
    }
}
